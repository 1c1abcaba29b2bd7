"""`holdfast data pack`: small copies of large pictures, made ahead of a run."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from holdfast.cli.arguments import SIDE
from holdfast.cli.patience import patience
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
        "source",
        metavar="SRC",
        help="a recipe (.toml), whose training data is packed; or data, for the default recipe",
    )
    parser.add_argument(
        "--size",
        type=SIDE,
        metavar="PX",
        help="side of the network's input; the recipe's when left out",
    )
    parser.add_argument(
        "--cache", metavar="DIR", help="where to keep it; training looks in ~/.cache/holdfast/packs alone"
    )
    parser.add_argument(
        "--budget", default="20GiB", metavar="BYTES", help="the most that this pack may take (20GiB)"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run(args: argparse.Namespace) -> int:
    from holdfast.pipeline import columns, pack, packing
    from holdfast.train import prepare

    recipe = _recipe(args.source, args.size)
    folder = Path(args.cache) if args.cache else prepare.pack_folder()
    with patience(f"reading {recipe.data.train}"):
        data = columns.of_dataset(prepare.sets(recipe).train)
    made_to = prepare.feed(recipe)
    job = pack.job_for(data, made_to, bytes_of(args.budget))
    with patience(f"making small copies of {len(job.items)} pictures in {folder}"):
        made = packing.make(job, folder, progress=_show)
    packed = pack.read(made) if made else None
    result = {
        "folder": str(made) if made else None,
        "images": len(data),
        "worth_packing": len(job.items),
        "packed": len(packed.rows) if packed else 0,
        "bytes": int(packed.lengths.sum()) if packed else 0,
        "source_bytes": int(data.lengths[packed.rows].sum()) if packed else 0,
        "input": recipe.model.input,
        "augment": recipe.data.augment,
        "zoom_most": round(made_to.augment.zoom_most, 3),
        "found_by_training": folder == prepare.pack_folder(),
    }
    print(json.dumps(result) if args.json else _text(result))
    return ExitCode.FINE


def _recipe(source: str, size: int | None) -> Any:
    """The very recipe that `holdfast train` would make of it, so that the pack is the one that it looks for."""
    from holdfast.cli.train import _recipe as for_training

    return for_training(source, [f"model.input={size}"] if size else [])


def _text(result: dict[str, Any]) -> str:
    needs = (
        f"an input of {result['input']} px with {result['augment']} augmentation, "
        f"which enlarges up to {result['zoom_most']:g} times"
    )
    rest = result["worth_packing"] - result["packed"]
    why = "a copy would not be smaller, the budget is spent, or it cannot be decoded"
    if not result["worth_packing"]:
        return f"nothing to pack: none of the {result['images']} pictures is far larger than {needs}, needs"
    if not result["packed"]:
        return f"nothing was packed of {rest} large pictures: {why}"
    lines = [
        f"{result['folder']}: {result['packed']} of {result['images']} pictures, "
        f"{result['source_bytes'] / 2**20:.0f} MiB as {result['bytes'] / 2**20:.0f} MiB",
        f"made for {needs}",
    ]
    if rest:
        lines.append(f"{rest} more are read as they are: {why}")
    if not result["found_by_training"]:
        lines.append("training looks in $XDG_CACHE_HOME/holdfast/packs (~/.cache) alone: set that for both")
    return "\n".join(lines)


def _show(done: int, of: int) -> None:
    import sys

    if sys.stderr.isatty():
        print(f"\rpacked {done} of {of}", end="\n" if done == of else "", file=sys.stderr, flush=True)


def bytes_of(text: str) -> int:
    from holdfast.errors import UsageError

    digits = text.strip().rstrip("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ ")
    unit = text.strip()[len(digits) :].strip().lower()
    try:
        size = int(float(digits) * UNITS[unit])
        if size <= 0:
            raise ValueError(text)
        return size
    except (ValueError, KeyError, OverflowError):
        raise UsageError(
            f"{text!r} is not a size", where="--budget", change="a size such as 20GiB or 500MB"
        ) from None
