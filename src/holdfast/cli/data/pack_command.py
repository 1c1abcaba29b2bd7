"""`holdfast data pack`: makes small copies of large images ahead of a run."""

from __future__ import annotations

import argparse
import json
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from holdfast.cli.arguments import INPUT_SIDE, add_workers
from holdfast.cli.recipes import resolve_recipe
from holdfast.cli.slow_notice import notice_if_slow
from holdfast.errors import ExitCode
from holdfast.terminal_text import write_control

if TYPE_CHECKING:
    from holdfast.settings.recipe import Recipe

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
        help="a recipe (.toml) whose training data to pack, or data for the default recipe",
    )
    parser.add_argument(
        "--size",
        type=INPUT_SIDE,
        metavar="PX",
        help="side of the network input (default: the recipe's)",
    )
    parser.add_argument(
        "--cache", metavar="DIR", help="where to store the pack; training reads only ~/.cache/holdfast/packs"
    )
    parser.add_argument(
        "--budget", default="20GiB", metavar="BYTES", help="the largest size of the pack (default: 20GiB)"
    )
    add_workers(parser, "what makes the copies")
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run(args: argparse.Namespace) -> int:
    from holdfast.data.workers import worker_choice
    from holdfast.train import dataset_setup

    # The recipe that `holdfast train` resolves, so that training finds this pack.
    recipe = resolve_recipe(args.source, [f"model.input={args.size}"] if args.size else [])
    folder = Path(args.cache) if args.cache else dataset_setup.pack_folder()
    reads = [path for path in (recipe.data.train, recipe.data.validation) if path]
    with worker_choice.using(args.workers, reads=reads):
        return _pack(args, recipe, folder)


def _pack(args: argparse.Namespace, recipe: Recipe, folder: Path) -> int:
    from holdfast.data.workers import worker_choice
    from holdfast.pipeline import dataset_columns, pack, packing
    from holdfast.train import dataset_setup

    with notice_if_slow(f"reading {recipe.data.train}"):
        near = not worker_choice.current().on_ray
        train = dataset_setup.load_splits(recipe, near=near, on_disk=True).train
        without_boxes = train.with_records(replace(record, boxes=()) for record in train.records)
        data = dataset_columns.columns_of(without_boxes)
    made_to = dataset_setup.build_feed(recipe)
    job = pack.plan_pack(data, made_to, bytes_of(args.budget))
    with notice_if_slow(f"making small copies of {len(job.items)} images in {folder}"):
        made = packing.make_pack(job, folder, progress=_Bar(), workers=args.workers)
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
        "found_by_training": folder == dataset_setup.pack_folder(),
    }
    print(json.dumps(result) if args.json else _text(result))
    return ExitCode.FINE


def _text(result: dict[str, Any]) -> str:
    needs = (
        f"an input of {result['input']} px with {result['augment']} augmentation, "
        f"which zooms in up to {result['zoom_most']:g} times"
    )
    rest = result["worth_packing"] - result["packed"]
    why = "the copy would not be smaller, the budget is used up, or the image cannot be decoded"
    if not result["worth_packing"]:
        return (
            f"nothing to pack: none of the {result['images']} images is much larger than needed for {needs}"
        )
    if not result["packed"]:
        return f"none of {rest} large images was packed: {why}"
    lines = [
        f"{result['folder']}: {result['packed']} of {result['images']} images, "
        f"{result['source_bytes'] / 2**20:.0f} MiB packed into {result['bytes'] / 2**20:.0f} MiB",
        f"made for {needs}",
    ]
    if rest:
        lines.append(f"{rest} more are read from the original: {why}")
    if not result["found_by_training"]:
        lines.append(
            "training reads only $XDG_CACHE_HOME/holdfast/packs (~/.cache): set XDG_CACHE_HOME for both"
        )
    return "\n".join(lines)


class _Bar:
    """The bar of the other data jobs, for a job that says itself how much is done."""

    def __init__(self) -> None:
        self._began = time.monotonic()

    def __call__(self, done: int, of: int) -> None:
        from holdfast.data.files import progress_bar

        if sys.stderr.isatty():
            write_control(sys.stderr, "\r\x1b[K")
            said = progress_bar.line("packing", done, of, time.monotonic() - self._began)
            print("" if done == of else said, end="", file=sys.stderr, flush=True)


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
