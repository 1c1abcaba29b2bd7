"""Arguments that `convert`, `repair` and `inspect` share, and how they print their result."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from typing import Any

from holdfast.cli.slow_notice import notice_if_slow
from holdfast.data.formats import FORMATS
from holdfast.errors import ExitCode


def add_source(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("source", metavar="SRC", help="a dataset in any supported format")


def add_destination(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("destination", metavar="DST", help="the folder to write")


def add_reading_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--format", choices=FORMATS, help="the format of the source (default: detected)")
    parser.add_argument("--overwrite", action="store_true", help="replace an existing destination")
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run_and_print(
    args: argparse.Namespace, target: str, action: Callable[[], tuple[dict[str, Any], str]]
) -> int:
    """Runs the action and prints its result, as JSON or as text."""
    with notice_if_slow(f"reading {args.source} and writing {target}"):
        result, text = action()
    print(json.dumps(result, ensure_ascii=False) if args.json else text)
    return ExitCode.FINE
