"""`holdfast data convert`: writes a dataset in another format."""

from __future__ import annotations

import argparse
from typing import Any

from holdfast.cli.arguments import add_workers, integer
from holdfast.cli.data.dataset_arguments import (
    add_destination,
    add_reading_options,
    add_source,
    run_and_print,
)
from holdfast.data.formats import WRITABLE_FORMATS


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_source(parser)
    add_destination(parser)
    parser.add_argument("--to", required=True, choices=WRITABLE_FORMATS, help="the format to write")
    parser.add_argument("--annotations-only", action="store_true", help="do not copy the images")
    parser.add_argument(
        "--shards",
        type=integer(1, most=99999, such_as=8),
        metavar="N",
        help="TFRecord shards per split (default: by size)",
    )
    add_workers(parser, "what reads annotations and writes shards", alias=True)
    add_reading_options(parser)


def run(args: argparse.Namespace) -> int:
    return run_and_print(args, args.destination, lambda: _convert(args))


def _convert(args: argparse.Namespace) -> tuple[dict[str, Any], str]:
    from holdfast.data.checking.check_text import in_a_line
    from holdfast.data.workers import worker_choice
    from holdfast.data.writing.convert import ConvertOptions, convert

    processes = args.workers.count if args.workers else None
    options = ConvertOptions(args.overwrite, args.annotations_only, args.shards, processes=processes)
    with worker_choice.using(args.workers, reads=[args.source]):
        converted = convert(args.source, args.destination, args.to, format=args.format, options=options)
    dataset = converted.dataset
    result = {
        "source": args.source,
        "destination": args.destination,
        "from": dataset.format,
        "to": args.to,
        "images": len(dataset.records),
        "boxes": dataset.boxes,
        "classes": list(dataset.classes),
        "findings": [finding.as_json() for finding in converted.findings],
    }
    text = (
        f"{args.destination}: {len(dataset.records)} images and {dataset.boxes} boxes, "
        f"converted from {dataset.format} to {args.to}"
    )
    return result, "\n".join([text, *map(in_a_line, converted.findings)])
