"""`holdfast data pack`: small copies of large pictures, made ahead of a run."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from holdfast.errors import ExitCode

HELP = "make small copies of pictures far larger than a recipe needs, so that training reads those"
UNITS = {
    "": 1,
    "kib": 2**10,
    "mib": 2**20,
    "gib": 2**30,
    "tib": 2**40,
    "kb": 10**3,
    "mb": 10**6,
    "gb": 10**9,
    "tb": 10**12,
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "source", metavar="SRC", help="a dataset, or a recipe (.toml), whose training data is packed"
    )
    parser.add_argument(
        "--size", type=int, metavar="PX", help="side of the network's input; the recipe's when left out"
    )
    parser.add_argument("--cache", metavar="DIR", help="where packs are kept (~/.cache/holdfast/packs)")
    parser.add_argument(
        "--budget", default="20GiB", metavar="BYTES", help="the most that this pack may take (20GiB)"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run(args: argparse.Namespace) -> int:
    from holdfast.pipeline import columns, pack, packing

    dataset, feed = _what(args)
    data = columns.of_dataset(dataset)
    job = pack.job_for(data, feed, bytes_of(args.budget))
    folder = packing.make(job, cache_folder(args.cache), progress=_show)
    packed = pack.read(folder) if folder else None
    result = {
        "folder": str(folder) if folder else None,
        "images": len(data),
        "packed": len(packed.rows) if packed else 0,
        "bytes": int(packed.lengths.sum()) if packed else 0,
        "source_bytes": int(data.lengths[packed.rows].sum()) if packed else 0,
    }
    print(json.dumps(result) if args.json else _text(result))
    return ExitCode.FINE


def _what(args: argparse.Namespace) -> tuple[Any, Any]:
    from holdfast.data.reading import read
    from holdfast.pipeline.feed import Feed

    path, size = args.source, args.size
    if path.endswith(".toml"):
        from holdfast.cli.train import _recipe
        from holdfast.train import prepare

        recipe = _recipe(path, [f"model.input={size}"] if size else [])
        return prepare.sets(recipe).train, prepare.feed(recipe)  # as training itself has them
    size = size or 320
    return read(path), Feed(height=size, width=size, batch=1)


def _text(result: dict[str, Any]) -> str:
    if not result["packed"]:
        return f"nothing to pack: none of the {result['images']} pictures is far larger than training needs"
    return (
        f"{result['folder']}: {result['packed']} of {result['images']} pictures, "
        f"{result['source_bytes'] / 2**20:.0f} MiB as {result['bytes'] / 2**20:.0f} MiB"
    )


def _show(done: int, of: int) -> None:
    import sys

    if sys.stderr.isatty():
        print(f"\rpacked {done} of {of}", end="\n" if done == of else "", file=sys.stderr, flush=True)


def cache_folder(given: str | None) -> Path:
    from holdfast.train.prepare import pack_folder

    return Path(given) if given else pack_folder()


def bytes_of(text: str) -> int:
    from holdfast.errors import UsageError

    digits = text.strip().rstrip("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ ")
    unit = text.strip()[len(digits) :].strip().lower()
    try:
        return int(float(digits) * UNITS[unit])
    except (ValueError, KeyError):
        raise UsageError(
            f"{text!r} is not a size", where="--budget", change="a size such as 20GiB or 500MB"
        ) from None
