"""Equal boxes of two classes in one image: one object that two people called differently, or a class and its kind.

Where a class always has the box of another too, the dataset says both on purpose: every car is a vehicle.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from holdfast.data.dataset_reader import Problem
from holdfast.data.images.image_rules import box_text
from holdfast.data.records import Box, Record

ALWAYS = 0.8  # of the boxes of the rarer class lie on boxes of the other: a class and its kind
FEWEST_KINDS = 3  # boxes of the rarer class from which that is said
TWO_LISTS = 0.9  # of all boxes, in two pairs of classes or more: each object in two lists of classes
FEWEST_BOXES = 10
MOST_PLACES = 5  # of a pair
MOST_PAIRS = 10_000

Pair = tuple[str, str]


class ClassPairs:
    """Counts over a whole dataset, of a bounded size."""

    def __init__(self) -> None:
        self._boxes: Counter[str] = Counter()
        self._pairs: Counter[Pair] = Counter()
        self._places: dict[Pair, list[tuple[str, str]]] = {}

    def add(self, record: Record, file: str) -> None:
        self._boxes.update(box.name for box in record.boxes)
        if len({box.corners for box in record.boxes}) == len(record.boxes):
            return
        classes: dict[tuple[float, ...], set[str]] = {}
        for box in record.boxes:
            if box.width > 0 and box.height > 0:
                self._see(box, classes.setdefault(box.corners, set()), record, file)

    def _see(self, box: Box, others: set[str], record: Record, file: str) -> None:
        for other in () if box.name in others else sorted(others):
            pair = (min(other, box.name), max(other, box.name))
            if pair not in self._pairs and len(self._pairs) >= MOST_PAIRS:
                continue
            self._pairs[pair] += 1
            places = self._places.setdefault(pair, [])
            if len(places) < MOST_PLACES:
                said = f"{box_text(box)} as {other!r} and as {box.name!r}"
                places.append((file, said if record.image.in_shard else f"{record.file_name}: {said}"))
        others.add(box.name)

    def problems(self) -> Iterator[Problem]:
        kinds = {pair for pair, count in self._pairs.items() if self._is_kind(pair, count)}
        if self._two_lists(kinds):
            kinds = set()
        for pair, count in self._pairs.items():
            if pair in kinds:
                continue
            places = self._places[pair]
            for at, (file, said) in enumerate(places):
                yield Problem("box-of-two-classes", file, said, 1 if at else count - len(places) + 1)

    def _is_kind(self, pair: Pair, count: int) -> bool:
        rarer = min(self._boxes[name] for name in pair)
        return rarer >= FEWEST_KINDS and count >= ALWAYS * rarer

    def _two_lists(self, kinds: set[Pair]) -> bool:
        """Every class has its own double, and there are two or more of these: the same boxes were read twice."""
        total = sum(self._boxes.values())
        double = {pair for pair in kinds if self._pairs[pair] >= ALWAYS * max(self._boxes[n] for n in pair)}
        alone = len({name for pair in double for name in pair}) == 2 * len(double)
        covered = 2 * sum(self._pairs[pair] for pair in double)
        return len(double) >= 2 and alone and total >= FEWEST_BOXES and covered >= TWO_LISTS * total
