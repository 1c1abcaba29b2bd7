"""From a recipe to the two sets of pictures: what is trained on, and what is held out to validate."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from pathlib import Path

from holdfast.data.files import splits
from holdfast.data.files.cloud_copy import local_copy
from holdfast.data.images.facts_cache import cache_folder
from holdfast.data.reading.load import read
from holdfast.data.records import Dataset, Record
from holdfast.detectors.spec import RESIZING
from holdfast.errors import DataError
from holdfast.pipeline import image_sizes, pack
from holdfast.pipeline.dataset_columns import Columns
from holdfast.pipeline.feed import LIGHT, PLAIN, STRONG, Feed
from holdfast.pipeline.pack import PackIndex
from holdfast.pipeline.packing import BackgroundPack
from holdfast.settings.recipe import Recipe

DEFAULT_VALIDATION_FRACTION = 0.1
AUGMENTS = {"none": PLAIN, "light": LIGHT, "strong": STRONG}
PACK_BYTES = 20 * 2**30  # what `holdfast data pack` allows a pack to take, unless told otherwise


@dataclass(frozen=True)
class DatasetSplits:
    train: Dataset
    validation: Dataset
    how: str  # where the validation set came from, in words
    held_from: Dataset  # what the validation set is a part of, as it was read


def load_splits(recipe: Recipe) -> DatasetSplits:
    """Reads the data and parts it by what the recipe says, else by the data's own splits, else a tenth."""
    everything = read(local_copy(recipe.data.train, print))
    if recipe.data.validation is not None:
        validation = read(local_copy(recipe.data.validation, print))
        held = _only(validation, splits.validation_splits(record.split for record in validation.records))
        made = DatasetSplits(
            _train_part(everything), held, f"validates on {recipe.data.validation}", validation
        )
    else:
        made = _split_off_validation(everything, recipe.data.validation_fraction)
    classes = tuple(recipe.data.classes or made.train.classes)
    return replace(
        made, train=_with_classes(made.train, classes), validation=_with_classes(made.validation, classes)
    )


def build_feed(recipe: Recipe, *, share: tuple[int, int] = (0, 1)) -> Feed:
    """What the training stream is made to; `share` is a process's part of how many."""
    size, (part, count) = recipe.model.input, share
    return Feed(
        size, size, recipe.train.batch // count, seed=recipe.train.seed, fit=RESIZING[recipe.model.detector],
        augment=AUGMENTS[recipe.data.augment], part=part, parts=count,
    )  # fmt: skip


def may_resize_on_device(recipe: Recipe, *, on_gpu: bool) -> bool:
    """Whether the recipe lets the step resize pictures there. Other machines' batches would grow on the wire, and a
    processor that computes the steps is the one that is to be spared: `auto` leaves it to the pipeline then."""
    wanted = recipe.data.resize
    return wanted == "device" or (wanted == "auto" and on_gpu and not recipe.hardware.data_service)


def with_sent_pixels(recipe: Recipe, trained: Columns, made_to: Feed, *, on_gpu: bool) -> Feed:
    """The feed, with the number of pixels in which pictures are sent where the step resizes them."""
    if not may_resize_on_device(recipe, on_gpu=on_gpu):
        return made_to
    if recipe.data.resize == "auto" and not image_sizes.worth_sending(trained, made_to):
        return made_to
    return replace(made_to, sent_pixels=image_sizes.sent_pixels(trained, made_to))


def find_pack(trained: Columns, made_to: Feed, from_epoch: int = 0) -> PackIndex | None:
    """The packed copy of these pictures, by `holdfast data pack RECIPE` or a run before, if it is there and whole."""
    job = pack.plan_pack(trained, made_to, PACK_BYTES)
    return pack.read(pack_folder() / f"pack-{job.key}", from_epoch) if job.items else None


def pack_in_background(trained: Columns, made_to: Feed) -> BackgroundPack:
    return BackgroundPack(pack.plan_pack(trained, made_to, PACK_BYTES), pack_folder())


def pack_folder() -> Path:
    return cache_folder() / "packs"


def _split_off_validation(everything: Dataset, fraction: float | None) -> DatasetSplits:
    own = splits.splits_called(everything.splits, splits.VALIDATION_NAMES)
    if fraction is None and own and splits.splits_called(everything.splits, splits.TRAINING_NAMES):
        how = f"validates on the data's own split {' and '.join(map(repr, own))}"
        return DatasetSplits(_train_part(everything), _only(everything, frozenset(own)), how, everything)
    trained = _train_part(everything)
    kept, held = split_records(trained.records, fraction or DEFAULT_VALIDATION_FRACTION)
    if not held:
        raise DataError(
            "no picture is left to validate on",
            where=everything.path,
            found=f"{len(trained.records)} pictures",
            change="data.validation with a folder of its own, or a larger data.validation_fraction",
        )
    why = "" if fraction else " (the recipe names no validation set)"
    how = f"validates on {len(held)} of {len(trained.records)} pictures, held out by their names{why}"
    return DatasetSplits(replace(trained, records=kept), replace(trained, records=held), how, everything)


def split_records(
    records: tuple[Record, ...], fraction: float
) -> tuple[tuple[Record, ...], tuple[Record, ...]]:
    """Trained and held out: those whose names hash lowest are held out, at least one when there are two.

    A picture stays on its side when others are added, but for a few at the edge.
    """
    ranked = sorted(
        records,
        key=lambda record: hashlib.sha256(record.file_name.encode("utf-8", "surrogateescape")).digest(),
    )
    count = min(len(records) - 1, max(1, round(len(records) * fraction))) if len(records) > 1 else 0
    held = {id(record) for record in ranked[:count]}
    return (
        tuple(record for record in records if id(record) not in held),
        tuple(record for record in records if id(record) in held),
    )


def _train_part(dataset: Dataset) -> Dataset:
    return _only(dataset, splits.training_splits(record.split for record in dataset.records))


def _only(dataset: Dataset, wanted: frozenset[str | None]) -> Dataset:
    return replace(dataset, records=tuple(record for record in dataset.records if record.split in wanted))


def _with_classes(dataset: Dataset, classes: tuple[str, ...]) -> Dataset:
    ids = dict(zip(dataset.classes, dataset.class_ids, strict=False))
    return replace(dataset, classes=classes, class_ids=tuple(ids.get(name) for name in classes))
