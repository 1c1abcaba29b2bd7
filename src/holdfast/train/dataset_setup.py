"""From a recipe to the training set and the validation set, and how they are fed."""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from holdfast.data.files import splits
from holdfast.data.files.cloud_copy import local_copy
from holdfast.data.files.packed_list import ByteStore
from holdfast.data.reading.load import read
from holdfast.data.records import Dataset, Record
from holdfast.detectors.spec import resizing_of
from holdfast.errors import DataError, HoldfastError
from holdfast.host.cache_folder import cache_folder
from holdfast.pipeline import image_sizes, pack
from holdfast.pipeline.dataset_columns import Columns
from holdfast.pipeline.feed import LIGHT, PLAIN, STRONG, Feed, ResizeMode
from holdfast.pipeline.pack import PackIndex
from holdfast.pipeline.packing import BackgroundPack
from holdfast.settings.recipe import Recipe

DEFAULT_VALIDATION_FRACTION = 0.1
AUGMENTS = {"none": PLAIN, "light": LIGHT, "strong": STRONG}
PACK_BYTES = 20 * 2**30  # the default limit of `holdfast data pack`


@dataclass(frozen=True)
class DatasetSplits:
    train: Dataset
    validation: Dataset
    notes: str  # where the validation set came from
    validation_source: Dataset  # the dataset that the validation set is a part of


def load_splits(recipe: Recipe, *, near: bool = True, on_disk: bool = False) -> DatasetSplits:
    """Reads the data and splits it: as the recipe says, else by the data's own splits, else a tenth for validation.

    Of a bucket a local copy is read, unless `near` is false: on a cluster the workers read the bucket themselves.
    With `on_disk` the records are not in memory.
    """
    everything = read(_place(recipe.data.train, near), on_disk=on_disk)
    if recipe.data.validation is not None:
        source = read(_place(recipe.data.validation, near), on_disk=on_disk)
        validation = _only(source, splits.validation_splits(record.split for record in source.records))
        parts = DatasetSplits(
            _train_part(everything), validation, f"validates on {recipe.data.validation}", source
        )
    else:
        beside = _validation_beside(recipe, everything)
        parts = beside or _split_off_validation(everything, recipe.data.validation_fraction)
    classes = tuple(recipe.data.classes or parts.train.classes)
    return replace(
        parts, train=_with_classes(parts.train, classes), validation=_with_classes(parts.validation, classes)
    )


def _place(path: str, near: bool) -> str:
    return local_copy(path, print) if near else path


def build_feed(
    recipe: Recipe, *, process_share: tuple[int, int] = (0, 1), resizing: ResizeMode | None = None
) -> Feed:
    """How the training stream is made; `process_share` is a process's part of how many."""
    size, (part, count) = recipe.model.input, process_share
    return Feed(
        size, size, recipe.train.batch // count, seed=recipe.train.seed,
        fit=resizing or resizing_of(recipe.model.detector, recipe.model.weights),
        augment=AUGMENTS[recipe.data.augment], part=part, parts=count,
    )  # fmt: skip


def may_resize_on_device(recipe: Recipe, *, on_gpu: bool) -> bool:
    """Whether the recipe lets the step resize images. With `auto` the pipeline does it when the CPU computes
    the steps."""
    configured = recipe.data.resize
    return configured == "device" or (configured == "auto" and on_gpu)


def with_sent_pixels(recipe: Recipe, trained: Columns, feed: Feed, *, on_gpu: bool) -> Feed:
    """The feed, with the number of pixels that each image is sent with when the step resizes them."""
    if not may_resize_on_device(recipe, on_gpu=on_gpu):
        return feed
    if recipe.data.resize == "auto" and not image_sizes.worth_sending(trained, feed):
        return feed
    return replace(feed, sent_pixels=image_sizes.sent_pixels(trained, feed))


def find_pack(trained: Columns, feed: Feed, from_epoch: int = 0) -> PackIndex | None:
    """The packed copy of these images, made by `holdfast data pack RECIPE` or an earlier run, if it is complete."""
    job = pack.plan_pack(trained, feed, PACK_BYTES)
    return pack.read(pack_folder() / f"pack-{job.key}", from_epoch) if job.items else None


def pack_in_background(trained: Columns, feed: Feed) -> BackgroundPack:
    return BackgroundPack(pack.plan_pack(trained, feed, PACK_BYTES), pack_folder())


def pack_folder() -> Path:
    return cache_folder() / "packs"


def _validation_beside(recipe: Recipe, everything: Dataset) -> DatasetSplits | None:
    """The folder `valid` beside a training folder `train`, where its classes are the same: an export of three folders,
    of which only the first was named."""
    given = Path(recipe.data.train)
    named = splits.bare_split(given.name) == "train" and given.is_dir()
    if not named or recipe.data.validation_fraction is not None:
        return None
    others = sorted(one for one in given.resolve().parent.iterdir() if splits.bare_split(one.name) == "val")
    for folder in filter(Path.is_dir, others):
        with contextlib.suppress(HoldfastError):
            found = read(str(folder))
            if found.boxes and set(found.classes) <= set(everything.classes):
                notes = (
                    f"validates on the folder {folder.name!r} beside {given.name!r} "
                    "(data.validation_fraction holds out images of the training set instead)"
                )
                return DatasetSplits(_train_part(everything), found, notes, found)
    return None


def _split_off_validation(everything: Dataset, fraction: float | None) -> DatasetSplits:
    own = splits.splits_called(everything.splits, splits.VALIDATION_NAMES)
    if fraction is None and own and splits.splits_called(everything.splits, splits.TRAINING_NAMES):
        notes = f"validates on the data's own split {' and '.join(map(repr, own))}"
        return DatasetSplits(_train_part(everything), _only(everything, frozenset(own)), notes, everything)
    trained = _train_part(everything)
    held_out = held_out_records(trained.records, fraction or DEFAULT_VALIDATION_FRACTION)
    count = sum(held_out)
    if not count:
        raise DataError(
            "no image is left to validate on",
            where=everything.path,
            found=f"{len(trained.records)} images",
            change="set data.validation to a separate folder, or use a larger data.validation_fraction",
        )
    why = "" if fraction else " (the recipe names no validation set)"
    notes = f"validates on {count} of {len(trained.records)} images, held out by a hash of their names{why}"
    kept, validation = (
        trained.with_records(
            record for record, out in zip(trained.records, held_out, strict=True) if out is side
        )
        for side in (False, True)
    )
    return DatasetSplits(kept, validation, notes, everything)


def held_out_records(records: Sequence[Record], fraction: float) -> list[bool]:
    """Which are validated on: images whose names have the lowest hashes, at least one of two.

    An image stays on its side when others are added, but for a few at the boundary.
    """
    count = min(len(records) - 1, max(1, round(len(records) * fraction))) if len(records) > 1 else 0
    store = ByteStore()
    for record in records:
        store.add(hashlib.sha256(record.file_name.encode("utf-8", "surrogateescape")).digest())
    hashes = np.frombuffer(store.view(), ">u8").reshape(-1, 4)
    held_out = np.zeros(len(records), bool)
    held_out[np.lexsort(hashes.T[::-1])[:count]] = True
    answer: list[bool] = held_out.tolist()
    return answer


def _train_part(dataset: Dataset) -> Dataset:
    return _only(dataset, splits.training_splits(record.split for record in dataset.records))


def _only(dataset: Dataset, wanted: frozenset[str | None]) -> Dataset:
    return dataset.with_records(record for record in dataset.records if record.split in wanted)


def _with_classes(dataset: Dataset, classes: tuple[str, ...]) -> Dataset:
    ids = dict(zip(dataset.classes, dataset.class_ids, strict=False))
    return replace(dataset, classes=classes, class_ids=tuple(ids.get(name) for name in classes))
