"""`holdfast data repair`: writes a cleaned copy of a dataset, and a list of the changes."""

from __future__ import annotations

import argparse
from collections import Counter
from typing import Any

from holdfast.cli.arguments import add_workers
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
    parser.add_argument(
        "--to", choices=WRITABLE_FORMATS, help="the format to write (default: that of the source)"
    )
    add_workers(parser, "what decodes the images")
    add_reading_options(parser)


def run(args: argparse.Namespace) -> int:
    return run_and_print(args, args.destination, lambda: _repair(args))


def _repair(args: argparse.Namespace) -> tuple[dict[str, Any], str]:
    from holdfast.data.checking.check_text import in_a_line
    from holdfast.data.workers import worker_choice
    from holdfast.data.writing.repair import CHANGES, repair

    with worker_choice.using(args.workers, reads=[args.source]):
        repaired = repair(
            args.source, args.destination, to=args.to, format=args.format, overwrite=args.overwrite
        )
    images, boxes = len(repaired.dataset.records), repaired.dataset.boxes
    counted = Counter((change.done, change.what, change.reason) for change in repaired.changes)
    rows = [
        {"done": done, "what": what, "reason": reason, "count": count}
        for (done, what, reason), count in counted.most_common()
    ]
    lines = [f"{args.destination}: {images} images and {boxes} boxes"]
    lines += [f"  {row['count']:>6} {row['done']:<9} {row['what']} ({row['reason']})" for row in rows]
    lines.append(
        f"all changes are listed in {args.destination}/{CHANGES}" if rows else "no changes were needed"
    )
    lines += map(in_a_line, repaired.findings)
    result = {
        "destination": args.destination,
        "images": images,
        "boxes": boxes,
        "changes": rows,
        "findings": [finding.as_json() for finding in repaired.findings],
    }
    return result, "\n".join(lines)
