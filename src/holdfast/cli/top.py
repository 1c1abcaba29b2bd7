"""`holdfast top`: all runs at a glance in a terminal."""

from __future__ import annotations

import argparse
import contextlib
import shutil
import sys
import time
from pathlib import Path

from holdfast.cli.arguments import whole
from holdfast.errors import ExitCode, NotAFolder, PathMissing


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "runs", nargs="?", default="runs", help="the folder that holds the runs (default: ./runs)"
    )
    parser.add_argument(
        "--once", action="store_true", help="print once and leave; so does output that is no terminal"
    )
    parser.add_argument("--json", action="store_true", help="print once, as JSON")
    parser.add_argument(
        "--most", type=whole(1, such_as=20), default=20, metavar="N", help="the newest N runs (default: 20)"
    )


def run(args: argparse.Namespace) -> int:
    import json

    from holdfast.report import overview, table
    from holdfast.report.text import terminal_width, wants_colour

    root = folder_of_runs(args.runs)
    if args.json or args.once or not sys.stdout.isatty():
        lines = [overview.line(one) for one in overview.find(root)[: args.most]]
        shown = [one.as_json() for one in lines]
        text = table.render(lines, width=terminal_width(sys.stdout), colour=wants_colour(sys.stdout))
        print(json.dumps(shown) if args.json else text)
        return ExitCode.FINE
    known = overview.Lines()
    with contextlib.suppress(KeyboardInterrupt):
        while True:
            room = max(3, shutil.get_terminal_size().lines - 4)
            lines = [known.of(one) for one in overview.find(root)[: args.most]]
            text = table.render(lines, width=terminal_width(sys.stdout), colour=wants_colour(sys.stdout))
            shown_lines = text.splitlines()[:room]
            # Written over in place: clearing first would flicker.
            body = "".join(f"{line}\x1b[K\n" for line in [*shown_lines, "", "every second; Ctrl-C leaves"])
            print(f"\x1b[H{body}\x1b[J", end="", flush=True)
            time.sleep(1.0)
    print()
    return ExitCode.FINE


def folder_of_runs(name: str) -> Path:
    root = Path(name)
    if not root.exists():
        raise PathMissing(
            "there is no folder of runs here",
            where=root,
            change="give the folder, or make a run: holdfast run -- python train.py",
        )
    if not root.is_dir():
        raise NotAFolder(
            "this is a file, and runs live in a folder", where=root, change="give the folder of the runs"
        )
    return root
