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

from holdfast import shared_limits, terminal_text
from holdfast.errors import AlreadyThere, ExitCode, HoldfastError, of_os
from holdfast.journal import events as ev
from holdfast.journal.folder import ATTEMPT_VARIABLE, RunFolder
from holdfast.train.save_on_signal import STOP_SIGNALS

if TYPE_CHECKING:
    from holdfast.settings.recipe import Recipe
    from holdfast.train.process_group import ProcessGroup

UNEXPECTED_EXIT = 70  # EX_SOFTWARE of sysexits.h
EXIT_CODES = {"finished": 0, "early-stopping": 0, "SIGTERM": 143, "SIGINT": 130, "SIGHUP": 129}


class StopSignal:
    """The first SIGTERM or Ctrl-C, or a terminal that closes, stops the run after the current step; a second Ctrl-C
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
    parser.add_argument("--resume", action="store_true", help="resume from the newest complete checkpoint")
    parser.add_argument(
        "--accept-changes", action="store_true", help="resume although the recipe has changed"
    )
    args = parser.parse_args(argv)
    with terminal_text.installed():
        return _train_or_report(args)


def _train_or_report(args: argparse.Namespace) -> int:
    try:
        return _train(RunFolder(args.run_dir), resume=args.resume, accept=args.accept_changes)
    except HoldfastError as error:
        return _leave_group(_report_error(error))
    except OSError as error:
        return _leave_group(_report_error(of_os(error)))
    except KeyboardInterrupt:  # before the handlers are set, or a second one
        return _leave_group(EXIT_CODES["SIGINT"])
    except Exception as error:  # a defect of membership or of a library: the supervisor restarts
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
            "this folder has a run with checkpoints, and nothing is overwritten unless you ask for it",
            where=folder.checkpoints,
            change="--resume to continue it, or another --run-dir",
        )
    lock = run_lock.acquire_lock(folder.path)
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")  # hides advice about builds of TensorFlow
    os.environ["KERAS_BACKEND"] = recipe.train.backend  # before anything imports Keras
    _enable_compile_cache(recipe.train.backend)
    stop_signal = StopSignal()
    group = _join_group(folder, recipe, stop_signal)
    from holdfast.train.training_run import TrainingRun

    run = TrainingRun(
        folder,
        recipe,
        attempt=attempt,
        resume=resume,
        stop_signal=stop_signal,
        accept_changes=accept,
        group=group,
    )
    reason = run.run(grace_s=shared_limits.TRAINER_GRACE_S)
    run.notify(ev.ExitStarted(exit_code=EXIT_CODES[reason], steps=run.steps_done))
    del lock  # released here, and however else the process ends
    if stop_signal() and group is None:
        _exit_immediately(EXIT_CODES[reason])
    return EXIT_CODES[reason]


def _enable_compile_cache(backend: str) -> None:
    from holdfast.step import compile_cache

    cache = compile_cache.folder_for(
        backend, os.environ, has_gpu=compile_cache.has_nvidia_gpu(), home=Path.home()
    )
    if cache is not None:
        os.environ[compile_cache.VARIABLE] = str(cache)


def _exit_immediately(code: int) -> None:
    """Everything is on the disk. Unloading TensorFlow takes seconds that a pre-emption may not give."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def _leave_group(code: int) -> int:
    """In a group exits at once: JAX would wait for the others, which wait for this process."""
    from holdfast.journal import group_membership

    if group_membership.from_environment() is not None:
        _exit_immediately(code)
    return code


def _join_group(folder: RunFolder, recipe: Recipe, stop_signal: StopSignal) -> ProcessGroup | None:
    """Joins the process group, before JAX computes anything; None for a run of one process."""
    from holdfast.journal import group_membership

    membership = group_membership.from_environment()
    if membership is None and recipe.hardware.devices == 1:
        return None
    if membership is None:
        split_cpu_for_recipe(recipe)
        return None
    from holdfast.train import process_group

    process_group.join_group(membership, devices=recipe.hardware.devices)
    return process_group.ProcessGroup(membership, stop_signal, folder.path)


def split_cpu_for_recipe(recipe: Recipe) -> None:
    """When several devices are configured and there is no GPU, splits the CPU into as many."""
    if recipe.hardware.devices == 1:
        return
    if recipe.train.backend == "jax":
        from holdfast.train import process_group

        process_group.split_cpu(recipe.hardware.devices)
    else:
        from holdfast.step import tensorflow_mirrored

        tensorflow_mirrored.split_cpu(recipe.hardware.devices)


def _stop_probe() -> None:
    """The trainer writes its own events; the probe, which the supervisor injects, must not write them twice."""
    probe = sys.modules.get("_holdfast.probe.bootstrap")
    if probe is not None:
        probe.end()


def _agent_lost_exit_code(error: Exception) -> int:
    """The exit code when another process of the group was lost; 0 for any other error."""
    group = sys.modules.get("holdfast.train.process_group")
    return int(group.AGENT_LOST) if group is not None and group.is_agent_lost(error) else 0


def _report_error(error: HoldfastError) -> int:
    from holdfast.report.text import render_error, terminal_width, wants_colour

    text = render_error(error, width=terminal_width(sys.stderr), colour=wants_colour(sys.stderr))
    print(text, file=sys.stderr, flush=True)
    return int(ExitCode(error.exit_code))


if __name__ == "__main__":
    sys.exit(main())
