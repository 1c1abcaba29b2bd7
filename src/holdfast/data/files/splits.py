"""Splits: what a path or a name says about them, and which of them is trained and which validated on."""

from __future__ import annotations

import re
from collections.abc import Iterable

_SPLIT = re.compile(r"(train|training|val|valid|validation|test|testing|dev|eval)(20\d\d)?", re.IGNORECASE)
# `trainval` is the union of two splits and never a split of its own.
_ALSO = {
    "training": "train",
    "valid": "val",
    "validation": "val",
    "dev": "val",
    "eval": "val",
    "testing": "test",
}
TRAINING_NAMES = ("train", "trainval")
VALIDATION_NAMES = ("val", "test")


def split_in_path(path: str) -> str | None:
    """The split that a folder of the path names: `images/train/a.jpg` is of "train"."""
    return next((part for part in reversed(path.split("/")[:-1]) if _SPLIT.fullmatch(part)), None)


def split_in_name(name: str) -> str | None:
    """The split that a file's own name carries: `instances_val2017.json`, `train.record-00000-of-00002`.

    The last that it names: `test_project_train.json` is of "train".
    """
    tokens = re.split(r"[_\-. ]+", name.rsplit("/", 1)[-1])
    return next((token for token in reversed(tokens) if _SPLIT.fullmatch(token)), None)


def bare_split(split: str) -> str:
    """A split by its plain name: "train" for "train2017" and "Training", "val" for "valid"."""
    word = re.sub(r"20\d\d$", "", split.lower()) or split.lower()
    return _ALSO.get(word, word)


def splits_called(splits: Iterable[str | None], names: tuple[str, ...]) -> tuple[str, ...]:
    """Those called by the first of the names that occurs: "train2014" and "train2017" are both called train."""
    known = tuple(dict.fromkeys(split for split in splits if split is not None))
    by_name = (tuple(split for split in known if bare_split(split) == name) for name in names)
    return next((found for found in by_name if found), ())


def training_splits(splits: Iterable[str | None]) -> frozenset[str | None]:
    """What of a dataset with these splits is trained on: its own training split and what is of none; else all."""
    known = frozenset(splits)
    own = splits_called(sorted(filter(None, known)), TRAINING_NAMES)
    return frozenset(own) | (known & {None}) if own else known


def validation_splits(splits: Iterable[str | None]) -> frozenset[str | None]:
    """What of a dataset with these splits is validated on: its own validation split, if it has several; else all."""
    known = frozenset(splits)
    own = splits_called(sorted(filter(None, known)), VALIDATION_NAMES)
    return frozenset(own) if own and len(known - {None}) > 1 else known
