"""`holdfast board`: a live local web page of all runs."""

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
    parser.add_argument("--port", type=PORT, default=0, help="port on 127.0.0.1 (default: any free port)")
    parser.add_argument("--open", action="store_true", help="open the page in a browser")


def run(args: argparse.Namespace) -> int:
    from holdfast.cli.run_folders import folder_of_runs
    from holdfast.report.board import Board

    root = folder_of_runs(args.runs)
    try:
        board = Board(root, port=args.port, explain=_explain, compare=_compare)
    except OSError as error:
        raise UsageError(
            f"cannot listen on port {args.port}",
            where="the command line",
            found=str(error),
            change="leave out --port, or choose another",
        ) from error
    try:
        print(f"{board.address}\nreachable from this machine only; Ctrl-C stops it", flush=True)
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
    from holdfast.cli.verdicts import compare_runs
    from holdfast.report.comparison import render

    return render(compare_runs(old.path, new.path), 100)
