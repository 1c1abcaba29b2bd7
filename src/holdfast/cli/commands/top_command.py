"""`holdfast top`: a live table of all runs in the terminal."""

from __future__ import annotations

import argparse
import contextlib
import shutil
import sys
import time

from holdfast.cli.arguments import add_hidden_alias, integer
from holdfast.cli.run_folders import folder_of_runs
from holdfast.errors import ExitCode
from holdfast.terminal_text import write_control

_UNWATCHED_EVERY_S = 5.0  # every process of the machine is looked at


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "runs", nargs="?", default="runs", help="the folder that holds the runs (default: ./runs)"
    )
    parser.add_argument(
        "--once", action="store_true", help="print once and exit (default when the output is not a terminal)"
    )
    parser.add_argument("--json", action="store_true", help="print once, as JSON")
    parser.add_argument(
        "--limit",
        type=integer(1, such_as=20),
        default=20,
        metavar="N",
        help="show the newest N runs (default: 20)",
    )
    add_hidden_alias(parser, "--most", of="--limit", type=integer(1, such_as=20))


def run(args: argparse.Namespace) -> int:
    import json

    from holdfast.host.threads import PeriodicReader
    from holdfast.report import overview, table
    from holdfast.report.text import terminal_width, wants_colour

    root = folder_of_runs(args.runs)
    if args.json or args.once or not sys.stdout.isatty():
        lines = [overview.line(one) for one in overview.find(root)[: args.limit]]
        shown = [one.as_json() for one in lines]
        text = table.render(lines, width=terminal_width(sys.stdout), colour=wants_colour(sys.stdout))
        print(json.dumps(shown) if args.json else _with_unwatched(text))
        return ExitCode.FINE
    known = overview.RunLineCache()
    unwatched = PeriodicReader(_unwatched, _unwatched(), every_s=_UNWATCHED_EVERY_S)
    with contextlib.suppress(KeyboardInterrupt):
        while True:
            room = max(3, shutil.get_terminal_size().lines - 4)
            lines = [known.of(one) for one in overview.find(root)[: args.limit]]
            text = table.render(lines, width=terminal_width(sys.stdout), colour=wants_colour(sys.stdout))
            shown_lines = _with_unwatched(text, unwatched.latest).splitlines()[:room]
            _overwrite([*shown_lines, "", "updated every second; Ctrl-C exits"])
            time.sleep(1.0)
    print()
    return ExitCode.FINE


def _overwrite(lines: list[str]) -> None:
    """In place: clearing first would flicker."""
    write_control(sys.stdout, "\x1b[H")
    for line in lines:
        print(line, end="")
        write_control(sys.stdout, "\x1b[K\n")
    write_control(sys.stdout, "\x1b[J")
    sys.stdout.flush()


def _unwatched() -> list[str]:
    """Training processes that run without Holdfast."""
    from holdfast.supervise.attach.target import describe
    from holdfast.supervise.attach.training_processes import unwatched

    return [describe(one) for one in unwatched()]


def _with_unwatched(text: str, lines: list[str] | None = None) -> str:
    from holdfast.report import table
    from holdfast.report.text import terminal_width, wants_colour

    below = table.render_unwatched(
        _unwatched() if lines is None else lines,
        width=terminal_width(sys.stdout),
        colour=wants_colour(sys.stdout),
    )
    return f"{text}\n\n{below}" if below else text
