"""`holdfast board`: a live local web page of all runs."""

from __future__ import annotations

import argparse

from holdfast.cli.arguments import PORT
from holdfast.errors import ExitCode, UsageError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "runs",
        nargs="*",
        default=["runs"],
        metavar="RUNS",
        help="folders that hold runs, also those of other machines (default: ./runs)",
    )
    parser.add_argument("--port", type=PORT, default=0, help="port on 127.0.0.1 (default: any free port)")
    parser.add_argument("--open", action="store_true", help="open the page in a browser")


def run(args: argparse.Namespace) -> int:
    from holdfast.board.board_server import Board
    from holdfast.cli.run_folders import folder_of_runs

    folders = [folder_of_runs(name) for name in args.runs]
    try:
        board = Board(folders, port=args.port)
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
        board.serve()
    except KeyboardInterrupt:
        print()
    finally:
        board.close()
    return ExitCode.FINE
