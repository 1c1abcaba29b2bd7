"""`holdfast data inspect`: writes one HTML page of images, tables and plots of a dataset."""

from __future__ import annotations

import argparse
from typing import Any

from holdfast.cli.arguments import add_hidden_alias, integer
from holdfast.cli.data.dataset_arguments import add_reading_options, add_source, run_and_print


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_source(parser)
    parser.add_argument(
        "--out", metavar="FILE", default="dataset.html", help="the page to write (default: dataset.html)"
    )
    count = integer(0, such_as=48)
    parser.add_argument(
        "--images", type=count, default=48, metavar="N", help="how many images to show (default: 48)"
    )
    add_hidden_alias(parser, "--pictures", of="--images", type=count)
    add_reading_options(parser)


def run(args: argparse.Namespace) -> int:
    return run_and_print(args, args.out, lambda: _inspect(args))


def _inspect(args: argparse.Namespace) -> tuple[dict[str, Any], str]:
    from holdfast.data.checking.inspect_page import inspect

    page = inspect(args.source, args.out, format=args.format, images=args.images, overwrite=args.overwrite)
    return {"page": page}, f"wrote {page}"
