"""`holdfast run -- CMD…`: watches any command, and explains at the end why it ended."""

from __future__ import annotations

import argparse
import contextlib
import os
import signal
from pathlib import Path
from typing import TYPE_CHECKING

from holdfast.cli.arguments import RESTARTS, positive
from holdfast.cli.notifications import add_notify, notifying
from holdfast.cli.verdicts import explain_and_print
from holdfast.errors import UsageError
from holdfast.journal.folder import RunFolder
from holdfast.stderr import print_line

if TYPE_CHECKING:
    from holdfast.supervise.session import RunOptions, RunResult

#: TensorFlow's and JAX's own switches for allocating GPU memory on demand.
GPU_GROWTH = {"TF_FORCE_GPU_ALLOW_GROWTH": "true", "XLA_PYTHON_CLIENT_PREALLOCATE": "false"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--run-dir", metavar="D", help="the run folder (default: runs/<script>-<n>)")
    parser.add_argument("--name", metavar="NAME", help="the name of the run; its folder is runs/NAME")
    parser.add_argument(
        "--stall-after",
        metavar="S",
        type=positive("seconds", such_as="60"),
        help="seconds without progress that count as a stall (default: learned from the run, per phase)",
    )
    parser.add_argument(
        "--on-stall",
        choices=("report", "stop", "restart"),
        default="report",
        help="on a stall: report it (default); stop the command with exit code 124; or restart it",
    )
    parser.add_argument(
        "--restarts",
        metavar="N",
        type=RESTARTS,
        help="how often a failed command is restarted (default: 0; 3 with --on-stall restart)",
    )
    parser.add_argument(
        "--gpu-growth",
        action="store_true",
        help="let TensorFlow and JAX allocate GPU memory on demand, instead of most of it at the start",
    )
    add_notify(parser)
    parser.add_argument(
        "command", nargs=argparse.REMAINDER, metavar="-- CMD", help="the command to watch, after --"
    )


def run(args: argparse.Namespace) -> int:
    from holdfast.supervise import session

    orders = _orders(args)
    if args.gpu_growth:
        os.environ.update(GPU_GROWTH)  # the frameworks read it when they start
    folder, finished = RunFolder(orders.run_dir), None
    try:
        with notifying(args.notify, folder):
            finished = session.SupervisedRun(orders, print_line=print_line).run()
            _print_end(finished, orders.run_dir)
    except (Exception, KeyboardInterrupt):
        if finished is None:
            raise
    return finished.exit_code


def _print_end(finished: RunResult, folder: Path) -> None:
    """The command has ended, and its exit code is ours: nothing here may raise, and a signal only ends the printing."""
    from holdfast.supervise import end_summary

    def interrupt(_number: int, _frame: object) -> None:
        raise KeyboardInterrupt

    with contextlib.suppress(Exception, KeyboardInterrupt):
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
            if signal.getsignal(number) is not signal.SIG_IGN:
                signal.signal(number, interrupt)
        print_line(end_summary.render(finished.summary))
        explain_and_print(RunFolder(folder), recorded=finished.recorded)


def _orders(args: argparse.Namespace) -> RunOptions:
    from holdfast.supervise import run_names, session

    command = tuple(args.command[1:] if args.command[:1] == ["--"] else args.command)
    if not command:
        raise UsageError(
            "there is no command to run",
            where="the command line",
            change="holdfast run -- python train.py",
        )
    if args.name is not None and (args.name in (".", "..") or "/" in args.name):
        raise UsageError(
            "the name of a run cannot contain a slash",
            where="the command line",
            found=f"--name {args.name}",
            change=f"--run-dir {args.name} for another folder",
        )
    restarts = args.restarts if args.restarts is not None else (3 if args.on_stall == "restart" else 0)
    return session.RunOptions(
        command=command,
        run_dir=run_names.choose_folder(command, run_dir=args.run_dir, name=args.name, runs=Path("runs")),
        stall_after_s=args.stall_after,
        on_stall=args.on_stall,
        restarts=restarts,
    )
