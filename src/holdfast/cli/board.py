"""`holdfast board`: a local web page of all runs, live."""

from __future__ import annotations

import argparse
from typing import Any

from holdfast.cli.arguments import PORT
from holdfast.errors import ExitCode, UsageError
from holdfast.journal.folder import RunFolder


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "runs", nargs="?", default="runs", help="the folder that holds the runs (default: ./runs)"
    )
    parser.add_argument("--port", type=PORT, default=0, help="on 127.0.0.1 (default: a free one)")
    parser.add_argument("--open", action="store_true", help="open it in a browser")


def run(args: argparse.Namespace) -> int:
    from holdfast.cli.top import folder_of_runs
    from holdfast.report.board import Board

    root = folder_of_runs(args.runs)
    try:
        board = Board(root, port=args.port, explain=_explain, compare=_compare)
    except OSError as error:
        raise UsageError(
            f"port {args.port} cannot be listened on",
            where="the command line",
            found=str(error),
            change="leave --port away, or choose another",
        ) from error
    try:
        print(f"{board.address}\nfor this machine alone; Ctrl-C ends it", flush=True)
        if args.open:
            import webbrowser

            webbrowser.open(board.address)
        board.serve_forever()
    except KeyboardInterrupt:
        print()
    finally:
        board.server_close()
    return ExitCode.FINE


def _explain(folder: RunFolder) -> dict[str, Any]:
    from holdfast.explain import explain
    from holdfast.report.verdict_json import as_json

    return as_json(explain(folder.path))


def _compare(old: RunFolder, new: RunFolder) -> str:
    from holdfast.cli.compare import compared
    from holdfast.report.comparison import render

    return render(compared(old.path, new.path), 100)
