"""`python -m holdfast.train RUN_DIR [--resume]`: the trainer's process. `holdfast train` starts and watches it."""

from __future__ import annotations

import argparse
import os
import signal
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from holdfast.errors import AlreadyThere, ExitCode, HoldfastError, of_os
from holdfast.journal import events as ev
from holdfast.journal.folder import ATTEMPT_VARIABLE, RunFolder
from holdfast.train.rescue import ASKING

if TYPE_CHECKING:
    from holdfast.settings.recipe import Recipe
    from holdfast.train.peers import Peers

GRACE_S = 25.0  # to write what is pending after a signal; clouds give about 30 s
UNEXPECTED = 70  # EX_SOFTWARE of sysexits.h
EXITS = {"finished": 0, "early-stopping": 0, "SIGTERM": 143, "SIGINT": 130, "SIGHUP": 129}


class Asked:
    """The first SIGTERM or Ctrl-C, or a terminal that closes, asks for a kind end at the next step; a second Ctrl-C
    does not wait."""

    def __init__(self) -> None:
        self.signal = ""
        for number in ASKING:
            under_nohup = number == signal.SIGHUP and signal.getsignal(number) == signal.SIG_IGN
            if not under_nohup:
                signal.signal(number, self._take)

    def __call__(self) -> str:
        return self.signal

    def _take(self, number: int, _frame: object) -> None:
        if self.signal and number == signal.SIGINT:
            raise KeyboardInterrupt
        self.signal = signal.Signals(number).name


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m holdfast.train")
    parser.add_argument("run_dir", type=Path)
    parser.add_argument("--resume", action="store_true", help="go on from the newest whole checkpoint")
    parser.add_argument("--accept-changes", action="store_true", help="of the recipe, since that checkpoint")
    args = parser.parse_args(argv)
    try:
        return _train(RunFolder(args.run_dir), resume=args.resume, accept=args.accept_changes)
    except HoldfastError as error:
        return _left(_say(error))
    except OSError as error:
        return _left(_say(of_os(error)))
    except KeyboardInterrupt:  # before it could be taken as a wish, or a second one
        return _left(EXITS["SIGINT"])
    except (
        Exception
    ) as error:  # a defect, or a library's: not an answer of ours, so the supervisor tries again
        traceback.print_exc()
        return _left(_peer_lost(error) or UNEXPECTED)


def _train(folder: RunFolder, *, resume: bool, accept: bool) -> int:
    from holdfast.settings import read
    from holdfast.train import held

    _without_probe()
    recipe = read(folder.recipe)
    attempt = int(os.environ.get(ATTEMPT_VARIABLE, "1") or 1)
    if not resume and attempt == 1 and any(folder.checkpoints.glob("step-*")):
        raise AlreadyThere(
            "this folder holds a run with checkpoints, and nothing is overwritten unasked",
            where=folder.checkpoints,
            change="--resume to go on with it, or another --run-dir",
        )
    lock = held.hold(folder.path)
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")  # pages of advice about builds of TensorFlow
    os.environ["KERAS_BACKEND"] = recipe.train.backend  # before anything imports Keras
    _keep_compiled(recipe.train.backend)
    asked = Asked()
    peers = _joined(folder, recipe, asked)
    from holdfast.train.session import Session

    session = Session(folder, recipe, attempt=attempt, resume=resume, asked=asked, accept=accept, peers=peers)
    reason = session.run(grace_s=GRACE_S)
    session.say(ev.ExitStarted(exit_code=EXITS[reason], steps=session.steps_done))
    del lock  # to here, and however else the process ends
    if asked() and peers is None:
        _leave_at_once(EXITS[reason])
    return EXITS[reason]


def _keep_compiled(backend: str) -> None:
    from holdfast.train import compile_cache

    kept = compile_cache.folder_for(
        backend, os.environ, has_card=compile_cache.has_nvidia_card(), home=Path.home()
    )
    if kept is not None:
        os.environ[compile_cache.VARIABLE] = str(kept)


def _leave_at_once(code: int) -> None:
    """Everything is on the disk. Taking TensorFlow apart takes seconds that a pre-emption may not give."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def _left(code: int) -> int:
    """In a group, at once: JAX would wait for the others at the end, who wait for this process."""
    from holdfast.launch import place

    if place.of_environment() is not None:
        _leave_at_once(code)
    return code


def _joined(folder: RunFolder, recipe: Recipe, asked: Asked) -> Peers | None:
    """The other processes of the run, met before anything of the engine is touched; None for a run of one."""
    from holdfast.launch import place

    ours = place.of_environment()
    if ours is None and recipe.hardware.devices == 1:
        return None
    if ours is None:
        part_cpu(recipe)
        return None
    from holdfast.train import peers

    peers.join(ours, devices=recipe.hardware.devices)
    return peers.Peers(ours, asked, folder.path)


def part_cpu(recipe: Recipe) -> None:
    """Where several devices are asked for and there is no card, the processor is parted into as many."""
    if recipe.hardware.devices == 1:
        return
    if recipe.train.backend == "jax":
        from holdfast.train import peers

        peers.part_cpu(recipe.hardware.devices)
    else:
        from holdfast.train import step_mirrored

        step_mirrored.part_cpu(recipe.hardware.devices)


def _without_probe() -> None:
    """The trainer tells its own story; the probe, which the supervisor puts on every path, must not tell it twice."""
    probe = sys.modules.get("_holdfast.probe.start")
    if probe is not None:
        probe.end()


def _peer_lost(error: Exception) -> int:
    """The exit code for a step that another process of the group made impossible; 0 for any other error."""
    peers = sys.modules.get("holdfast.train.peers")
    return int(peers.PEER_LOST) if peers is not None and peers.lost_a_peer(error) else 0


def _say(error: HoldfastError) -> int:
    from holdfast.report.text import render_error, terminal_width, wants_colour

    text = render_error(error, width=terminal_width(sys.stderr), colour=wants_colour(sys.stderr))
    print(text, file=sys.stderr, flush=True)
    return int(ExitCode(error.exit_code))


if __name__ == "__main__":
    sys.exit(main())
