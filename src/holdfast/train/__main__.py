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
from holdfast.train.save_on_signal import STOP_SIGNALS

if TYPE_CHECKING:
    from holdfast.settings.recipe import Recipe
    from holdfast.train.process_group import ProcessGroup

GRACE_S = 25.0  # to write what is pending after a signal; clouds give about 30 s
UNEXPECTED_EXIT = 70  # EX_SOFTWARE of sysexits.h
EXIT_CODES = {"finished": 0, "early-stopping": 0, "SIGTERM": 143, "SIGINT": 130, "SIGHUP": 129}


class StopSignal:
    """The first SIGTERM or Ctrl-C, or a terminal that closes, asks for a kind end at the next step; a second Ctrl-C
    does not wait."""

    def __init__(self) -> None:
        self.signal = ""
        for number in STOP_SIGNALS:
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
        return _leave_group(_report_error(error))
    except OSError as error:
        return _leave_group(_report_error(of_os(error)))
    except KeyboardInterrupt:  # before it could be taken as a wish, or a second one
        return _leave_group(EXIT_CODES["SIGINT"])
    except (
        Exception
    ) as error:  # a defect, or a library's: not an answer of ours, so the supervisor tries again
        traceback.print_exc()
        return _leave_group(_agent_lost_exit_code(error) or UNEXPECTED_EXIT)


def _train(folder: RunFolder, *, resume: bool, accept: bool) -> int:
    from holdfast.settings import read
    from holdfast.train.checkpoint import run_lock

    _stop_probe()
    recipe = read(folder.recipe)
    attempt = int(os.environ.get(ATTEMPT_VARIABLE, "1") or 1)
    if not resume and attempt == 1 and any(folder.checkpoints.glob("step-*")):
        raise AlreadyThere(
            "this folder holds a run with checkpoints, and nothing is overwritten unasked",
            where=folder.checkpoints,
            change="--resume to go on with it, or another --run-dir",
        )
    lock = run_lock.acquire_lock(folder.path)
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")  # pages of advice about builds of TensorFlow
    os.environ["KERAS_BACKEND"] = recipe.train.backend  # before anything imports Keras
    _enable_compile_cache(recipe.train.backend)
    asked = StopSignal()
    peers = _join_group(folder, recipe, asked)
    from holdfast.train.training_run import TrainingRun

    session = TrainingRun(
        folder, recipe, attempt=attempt, resume=resume, asked=asked, accept=accept, peers=peers
    )
    reason = session.run(grace_s=GRACE_S)
    session.say(ev.ExitStarted(exit_code=EXIT_CODES[reason], steps=session.steps_done))
    del lock  # to here, and however else the process ends
    if asked() and peers is None:
        _exit_immediately(EXIT_CODES[reason])
    return EXIT_CODES[reason]


def _enable_compile_cache(backend: str) -> None:
    from holdfast.step import compile_cache

    kept = compile_cache.folder_for(
        backend, os.environ, has_card=compile_cache.has_nvidia_gpu(), home=Path.home()
    )
    if kept is not None:
        os.environ[compile_cache.VARIABLE] = str(kept)


def _exit_immediately(code: int) -> None:
    """Everything is on the disk. Taking TensorFlow apart takes seconds that a pre-emption may not give."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def _leave_group(code: int) -> int:
    """In a group, at once: JAX would wait for the others at the end, who wait for this process."""
    from holdfast.journal import group_membership

    if group_membership.from_environment() is not None:
        _exit_immediately(code)
    return code


def _join_group(folder: RunFolder, recipe: Recipe, asked: StopSignal) -> ProcessGroup | None:
    """The other processes of the run, met before anything of the engine is touched; None for a run of one."""
    from holdfast.journal import group_membership

    ours = group_membership.from_environment()
    if ours is None and recipe.hardware.devices == 1:
        return None
    if ours is None:
        split_cpu_for_recipe(recipe)
        return None
    from holdfast.train import process_group

    process_group.join_group(ours, devices=recipe.hardware.devices)
    return process_group.ProcessGroup(ours, asked, folder.path)


def split_cpu_for_recipe(recipe: Recipe) -> None:
    """Where several devices are asked for and there is no card, the processor is parted into as many."""
    if recipe.hardware.devices == 1:
        return
    if recipe.train.backend == "jax":
        from holdfast.train import process_group

        process_group.split_cpu(recipe.hardware.devices)
    else:
        from holdfast.step import tensorflow_mirrored

        tensorflow_mirrored.split_cpu(recipe.hardware.devices)


def _stop_probe() -> None:
    """The trainer tells its own story; the probe, which the supervisor puts on every path, must not tell it twice."""
    probe = sys.modules.get("_holdfast.probe.bootstrap")
    if probe is not None:
        probe.end()


def _agent_lost_exit_code(error: Exception) -> int:
    """The exit code for a step that another process of the group made impossible; 0 for any other error."""
    peers = sys.modules.get("holdfast.train.process_group")
    return int(peers.PEER_LOST) if peers is not None and peers.lost_a_peer(error) else 0


def _report_error(error: HoldfastError) -> int:
    from holdfast.report.text import render_error, terminal_width, wants_colour

    text = render_error(error, width=terminal_width(sys.stderr), colour=wants_colour(sys.stderr))
    print(text, file=sys.stderr, flush=True)
    return int(ExitCode(error.exit_code))


if __name__ == "__main__":
    sys.exit(main())
