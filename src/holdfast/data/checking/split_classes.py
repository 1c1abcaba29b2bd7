"""Classes that are in one split and not in another: a list that was cut into splits before it was shuffled.

A rare class may be absent from a small split by chance. Only what chance does not do is said.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator

from holdfast.data.dataset_reader import Problem
from holdfast.data.files.splits import training_splits, validation_splits
from holdfast.data.records import Record

FEWEST_IMAGES = 10  # of training with boxes, and with the class that is absent elsewhere
FEWEST_UNSEEN = 3  # images of a class that training does not have
CHANCE = 1e-4  # that a class is absent from a split
BESIDE = 0.05  # of others that are named beside it
CHANCE_TOGETHER = 1e-3  # that so many classes are absent: Chernoff's bound
EVEN = 0.5  # chance of a single one among many, or less
MOSTLY = 0.75  # of a class's images, or more, are in one split
SMALLER = 0.4  # of all images, or fewer, are in that split
CHANCE_MOSTLY = 1e-6
MOST_NAMED = 6


class SplitClasses:
    """In how many images of each split a class is."""

    def __init__(self) -> None:
        self._images: Counter[str] = Counter()  # with boxes
        self._with: dict[str, Counter[str]] = {}

    def add(self, record: Record) -> None:
        if record.split is not None and record.boxes:
            self._images[record.split] += 1
            self._with.setdefault(record.split, Counter()).update({box.name for box in record.boxes})

    def problems(self, path: str) -> Iterator[Problem]:
        training = {split for split in training_splits(self._images) if split is not None}
        others = [split for split in self._images if split not in training]
        if not others or not training:
            return
        trained = sum((self._with[split] for split in training), Counter[str]())
        count = sum(self._images[split] for split in training)
        judged = validation_splits(self._images)  # of classes that are only there `unlearned-class` speaks
        for split in others:
            yield from self._compared(split, trained, count, " and ".join(sorted(training)), path)
            if split not in judged:
                yield from self._unseen(split, trained, count, " and ".join(sorted(training)), path)

    def _compared(
        self, split: str, trained: Counter[str], count: int, training: str, path: str
    ) -> Iterator[Problem]:
        here, images = self._with[split], self._images[split]
        absent = _absent(trained, here, count, images)
        mostly = [
            name
            for name, seen in here.items()
            if trained[name] and _crowded(seen, seen + trained[name], images / (images + count))
        ]
        if absent:
            said = f"no box in {split}, and boxes in images of {training}: {_named(absent, trained)}"
            yield Problem("class-not-in-split", path, said, len(absent))
        for name in mostly:
            said = f"{name!r} is in {here[name]} of {images} images of {split}, "
            said += f"and in {trained[name]} of {count} of {training}"
            yield Problem("class-not-in-split", path, said)

    def _unseen(
        self, split: str, trained: Counter[str], count: int, training: str, path: str
    ) -> Iterator[Problem]:
        here, images = self._with[split], self._images[split]
        unseen = [
            name
            for name, seen in here.items()
            if not trained[name] and seen >= FEWEST_UNSEEN and (1 - seen / images) ** count <= CHANCE
        ]
        if unseen:
            said = f"no box in {training}, and boxes in images of {split}: {_named(unseen, here)}"
            yield Problem("class-not-in-split", path, said, len(unseen))


def _absent(trained: Counter[str], here: Counter[str], count: int, images: int) -> list[str]:
    """Classes that are there in training, and whose absence here is no chance: each by itself, or so many together."""
    chances = {name: (1 - seen / count) ** images for name, seen in trained.items()}
    likely = sum(chances.values())
    absent = [name for name in chances if not here[name] and trained[name] >= FEWEST_IMAGES]
    together = [name for name in absent if chances[name] <= EVEN]
    bound = (
        len(together) * math.log(len(together) / likely) - len(together) + likely
        if together and likely
        else 0.0
    )
    if len(together) > likely and bound >= -math.log(CHANCE_TOGETHER):
        return together
    sure = any(chances[name] <= CHANCE for name in absent)
    return [name for name in absent if sure and chances[name] <= BESIDE]


def _crowded(here: int, everywhere: int, share: float) -> bool:
    """Chernoff's bound of the chance that so many of a class's images fall into a split of this share."""
    part = here / everywhere
    if share > SMALLER or part < MOSTLY:
        return False
    rest = (1 - part) * math.log((1 - part) / (1 - share)) if part < 1 else 0.0
    return everywhere * (part * math.log(part / share) + rest) >= -math.log(CHANCE_MOSTLY)


def _named(names: list[str], counts: Counter[str]) -> str:
    ordered = sorted(names, key=lambda name: (-counts[name], name))
    said = ", ".join(f"{name!r} ({counts[name]})" for name in ordered[:MOST_NAMED])
    return said + (f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else "")
