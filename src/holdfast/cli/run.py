"""`holdfast run -- CMD…`: watches any command, and says at the end how it went."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from holdfast.cli.arguments import RESTARTS, positive
from holdfast.errors import UsageError
from holdfast.journal.folder import RunFolder

if TYPE_CHECKING:
    from holdfast.supervise.session import Orders

#: TensorFlow's and JAX's own switches for it.
GPU_GROWTH = {"TF_FORCE_GPU_ALLOW_GROWTH": "true", "XLA_PYTHON_CLIENT_PREALLOCATE": "false"}
HELP = "watch any command, notice when it stalls, and say why it ended"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--run-dir", metavar="D", help="the run's folder (default: runs/<script>-<n>)")
    parser.add_argument("--name", metavar="NAME", help="the run's name: its folder is runs/NAME")
    parser.add_argument(
        "--stall-after",
        metavar="S",
        type=positive("seconds", such_as="60"),
        help="seconds without any progress that count as a stall (default: learned from the run, by phase)",
    )
    parser.add_argument(
        "--on-stall",
        choices=("report", "stop", "restart"),
        default="report",
        help="report: say it and go on watching; stop: end the command, exit code 124; restart: end it and start again",
    )
    parser.add_argument(
        "--restarts",
        metavar="N",
        type=RESTARTS,
        help="how often a command that fails is started again (default 0; 3 with --on-stall restart)",
    )
    parser.add_argument(
        "--gpu-growth",
        action="store_true",
        help="let TensorFlow and JAX take a card's memory as they need it, instead of nearly all at the start",
    )
    parser.add_argument("command", nargs=argparse.REMAINDER, metavar="-- CMD", help="the command, after --")


def run(args: argparse.Namespace) -> int:
    from holdfast.supervise import ending, session

    orders = _orders(args)
    if args.gpu_growth:
        os.environ.update(GPU_GROWTH)  # read by the frameworks when they start, so before the command does
    say = _Say()
    finished = session.Session(orders, say=say).run()
    say(ending.render(finished.ending))
    _explain(RunFolder(orders.run_dir), say)
    return finished.exit_code


def _orders(args: argparse.Namespace) -> Orders:
    from holdfast.supervise import naming, session

    command = tuple(args.command[1:] if args.command[:1] == ["--"] else args.command)
    if not command:
        raise UsageError(
            "there is no command to run",
            where="the command line",
            change="holdfast run -- python train.py",
        )
    if args.name is not None and (args.name in (".", "..") or "/" in args.name):
        raise UsageError(
            "a run's name is one word without a slash",
            where="the command line",
            found=f"--name {args.name}",
            change=f"--run-dir {args.name} for a folder elsewhere",
        )
    restarts = args.restarts if args.restarts is not None else (3 if args.on_stall == "restart" else 0)
    return session.Orders(
        command=command,
        run_dir=naming.choose_folder(command, run_dir=args.run_dir, name=args.name, runs=Path("runs")),
        stall_after_s=args.stall_after,
        on_stall=args.on_stall,
        restarts=restarts,
    )


class _Say:
    """To standard error, where our words do not mix with what the command's output is used for."""

    def __call__(self, text: str) -> None:
        with contextlib.suppress(OSError, ValueError):
            print(text, file=sys.stderr, flush=True)


def _explain(folder: RunFolder, say: _Say) -> None:
    """The verdict, in the terminal and in verdict.json. Whatever goes wrong here, the exit code stays the command's."""
    try:
        from holdfast.explain import explain
        from holdfast.report.text import terminal_width, wants_colour
        from holdfast.report.verdict import render
        from holdfast.report.verdict_json import as_json

        verdict = explain(folder.path)
        say("\n" + render(verdict, terminal_width(sys.stderr), wants_colour(sys.stderr)).rstrip("\n"))
        text = json.dumps(as_json(verdict), indent=1, ensure_ascii=False)
    except Exception as error:
        say(f"holdfast: the run could not be explained: {type(error).__name__}: {error}")
        return
    try:
        folder.verdict.write_text(text + "\n")
    except OSError as error:
        say(f"holdfast: verdict.json is not written: {error}")
