"""Counts over a whole dataset: classes, sizes, repeats."""

from __future__ import annotations

import heapq
import random
import re
import struct
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Any

from holdfast.data.checking import (
    blank_images,
    file_order,
    image_groups,
    image_series,
    look_alikes,
    name_series,
)
from holdfast.data.checking.box_habits import BoxHabits
from holdfast.data.checking.class_names import misspelled, name_problems
from holdfast.data.checking.class_pairs import ClassPairs
from holdfast.data.checking.look_alike_letters import strange_letters, without_strange_letters
from holdfast.data.checking.split_classes import SplitClasses
from holdfast.data.checking.unlearned_classes import unlearned_classes
from holdfast.data.dataset_reader import Problem
from holdfast.data.files import splits
from holdfast.data.files.packed_list import ByteStore, PackedList, PackedWriter
from holdfast.data.images.image_file import ImageFacts
from holdfast.data.records import Box, Record

RARE_BOXES = 10
OUTSIZE_FACTOR = 4.0  # times the median number of pixels
CROWDED_FACTOR = 4.0  # times the 95th percentile of boxes an image
IMBALANCE = 10.0
FEWEST_COPIED = 3  # images of a shard that is another's copy
MIN_IMAGES = 20  # for "the rest" to mean something
SAMPLE = 4000
#: The digests of the image's bytes and of its boxes (0 for none), the split, whether it has a look, and the look.
_REPEATABLE = struct.Struct("<QQH?64sQHIIII?")
_COLUMNS = [
    ("bytes", "<u8"), ("boxes", "<u8"), ("split", "<u2"), ("looked", "?"), ("look", "u1", 64),
    ("classes", "<u8"), ("count", "<u2"), ("real", "<u4", 2), ("declared", "<u4", 2),
    ("unannotated", "?"),
]  # fmt: skip
MOST_MARKED = 64  # classes of which it is known in which image they are
MOST_ORDERED = 200_000  # images whose names are put in order


class DatasetStatistics:
    def __init__(self) -> None:
        self.images = 0
        self.boxes = 0
        self.classes: Counter[str] = Counter()
        self.sizes: Counter[tuple[int, int]] = Counter()
        self.boxes_per_image: Counter[int] = Counter()
        self.largest: list[tuple[int, str, str]] = []
        self.fullest: list[tuple[int, str]] = []
        self.sample: list[tuple[tuple[int, int], Box]] = []
        self._images_of: Counter[str | None] = Counter()  # by split
        self._classes_of: dict[str | None, Counter[str]] = {}
        self._splits: dict[str | None, int] = {}
        self._marks: dict[str, int] = {}  # a bit for each of the first classes
        self._names = PackedWriter[str]()
        self._repeatable = ByteStore()  # a row of _REPEATABLE for each name
        self._habits = BoxHabits()
        self._pairs = ClassPairs()
        self._split_classes = SplitClasses()
        self._random = random.Random(0)

    def add(self, record: Record, facts: ImageFacts, *, unannotated: bool = False) -> None:
        """`unannotated`: it has no annotation file, and is taken for an image with nothing in it."""
        self.images += 1
        self.boxes += len(record.boxes)
        names = [box.name for box in record.boxes]
        self.classes.update(names)
        self._images_of[record.split] += 1
        self._classes_of.setdefault(record.split, Counter()).update(names)
        self.boxes_per_image[len(record.boxes)] += 1
        file = file_of_record(record)
        _keep(self.fullest, (len(record.boxes), file))
        if facts.width:
            self.sizes[facts.upright_size] += 1
            said = f"{facts.width}x{facts.height}, {facts.width * facts.height / 1e6:.1f} megapixels"
            _keep(self.largest, (facts.width * facts.height, file, said))
            self._sampled(record, facts.upright_size)
        self._habits.add(record, facts.upright_size, file)
        self._pairs.add(record, record.source or file)
        self._split_classes.add(record)
        if facts.digest:
            self._names.add(file)
            split = self._splits.setdefault(record.split, len(self._splits))
            labels = _label_digest(record) if record.boxes else 0
            look = bytes.fromhex(facts.look)
            row = int(facts.digest[:16], 16), labels, split, len(look) > 0, look
            more = self._marked(record), min(len(record.boxes), 0xFFFF)
            declared = record.image.declared_size or (0, 0)
            real = facts.size if declared == facts.size else facts.upright_size
            self._repeatable.add(_REPEATABLE.pack(*row, *more, *real, *declared, unannotated))

    @property
    def training_images(self) -> int:
        """Those of the training splits; a fraction that a recipe holds out for validation is among them."""
        wanted = splits.training_splits(self._images_of)
        return sum(count for split, count in self._images_of.items() if split in wanted)

    def _marked(self, record: Record) -> int:
        found = 0
        for name in {box.name for box in record.boxes}:
            if name in self._marks or len(self._marks) < MOST_MARKED:
                found |= 1 << self._marks.setdefault(name, len(self._marks))
        return found

    def _sampled(self, record: Record, size: tuple[int, int]) -> None:
        """A fair sample of boxes, of a bounded size (reservoir sampling)."""
        before = self.boxes - len(record.boxes)
        for position, box in enumerate(record.boxes, before + 1):
            if len(self.sample) < SAMPLE:
                self.sample.append((size, box))
            elif (slot := self._random.randrange(position)) < SAMPLE:
                self.sample[slot] = (size, box)

    def problems(self, declared: dict[str, int], path: str) -> Iterator[Problem]:
        yield from self._repeats(path)
        yield from self._habits.problems(path)
        yield from self._pairs.problems()
        yield from self._split_classes.problems(path)
        yield from self._class_problems(declared, path)
        yield from self._outliers(path)

    # -- repeated images ---------------------------------------------------------------------

    def _repeats(self, path: str) -> Iterator[Problem]:
        import numpy as np

        table = np.frombuffer(self._repeatable.view(), _COLUMNS)
        names, named_splits = self._names.finished(), list(self._splits)
        if len(names) <= MOST_ORDERED:
            series = PackedList(name_series.series_of(names))
            yield from blank_images.problems(names, table, path)
            yield from file_order.problems(names, table, named_splits, series, path)
            yield from image_series.problems(names, table, list(self._marks), series, path)
            yield from look_alikes.problems(names, table, named_splits)
            yield from image_groups.problems(names, table["unannotated"], table["split"], named_splits)
        order = np.argsort(table["bytes"], kind="stable")
        ordered = table["bytes"][order]
        again = np.flatnonzero(ordered[1:] == ordered[:-1]) + 1
        first = -1
        copied = _CopiedFiles()
        for place in again:
            if first < 0 or ordered[first] != ordered[place]:
                first = int(place) - 1
            at, other = int(order[first]), int(order[place])
            problem = _repeat(table[at], table[other], names[at], names[other], named_splits)
            if not copied.takes(problem, names[at], names[other]):
                yield problem
        yield from copied.problems(names)

    # -- classes -------------------------------------------------------------------------------

    def _class_problems(self, declared: dict[str, int], path: str) -> Iterator[Problem]:
        if not self.boxes:
            yield Problem("no-boxes", path, f"{self.images or 'no'} images and not one box")
        other_spellings = set(misspelled(self.classes))
        for names in near_duplicates({*self.classes, *declared}):
            other_spellings.update(sorted(names, key=lambda name: self.classes[name])[:-1])
            counted = ", ".join(
                f"{name!r} ({self.classes[name]} boxes){strange_letters(name)}" for name in names
            )
            yield Problem("near-duplicate-class-names", path, counted)
        yield from name_problems(self.classes, declared, path)
        for name, count in sorted(self.classes.items()):
            if count < RARE_BOXES and name not in other_spellings:
                yield Problem("rare-class", path, f"{name!r} has {count} box{'es' if count > 1 else ''}")
        for name, boxes in unlearned_classes(self._classes_of).items():
            yield Problem(
                "unlearned-class",
                path,
                f"{name!r} has {boxes} box{'es' if boxes > 1 else ''} for validation and none for training",
            )
        for name in sorted(set(declared) - set(self.classes)):
            yield Problem("unused-class", path, f"{name!r} has no box")
        meant = [count for name, count in self.classes.items() if name not in other_spellings]
        most, least = max(meant, default=0), min(meant, default=0)
        if least and most > IMBALANCE * least:
            counted = ", ".join(f"{name} {count}" for name, count in self.classes.most_common(8))
            yield Problem("class-imbalance", path, f"boxes: {counted}")
        gaps = id_gaps(declared.values())
        if gaps:
            yield Problem("class-id-gap", path, f"no class has id {gaps}")

    # -- sizes ---------------------------------------------------------------------------------

    def _outliers(self, path: str) -> Iterator[Problem]:
        if len(self.sizes) > 1:
            common = ", ".join(
                f"{width}x{height} ({count})" for (width, height), count in self.sizes.most_common(4)
            )
            yield Problem("mixed-image-sizes", path, f"{len(self.sizes)} sizes: {common}", len(self.sizes))
        wide = sum(count for (w, h), count in self.sizes.items() if max(w, h) > 2 * min(w, h))
        if wide:
            yield Problem("wide-aspect", path, f"{wide} of {self.images} images", wide)
        if self.images < MIN_IMAGES:
            return
        median = percentile(Counter(_by_pixels(self.sizes)), 0.5)
        for pixels, file, said in sorted(self.largest, reverse=True):
            if pixels > OUTSIZE_FACTOR * median and pixels > 1_000_000:
                yield Problem("outsize-image", file, f"{said}; the median is {median / 1e6:.1f}")
        usual = max(5, percentile(self.boxes_per_image, 0.95))
        for count, file in sorted(self.fullest, reverse=True):
            if count > CROWDED_FACTOR * usual:
                yield Problem("crowded-image", file, f"{count} boxes; 95 of 100 images have {usual} or fewer")


class _CopiedFiles:
    """Repeated images of shards: those of a shard that is another's copy are one finding."""

    def __init__(self) -> None:
        self._repeated: dict[tuple[str, str], list[Problem]] = {}

    def takes(self, problem: Problem, name: str, again: str) -> bool:
        files = _shard_of(name), _shard_of(again)
        if problem.finding != "duplicate-image" or "" in files or files[0] == files[1]:
            return False
        self._repeated.setdefault((files[0], files[1]), []).append(problem)
        return True

    def problems(self, names: Iterable[str]) -> Iterator[Problem]:
        if not self._repeated:
            return
        sizes = Counter(map(_shard_of, names))
        for (first, again), found in self._repeated.items():
            if len(found) >= FEWEST_COPIED and len(found) == sizes[again]:
                said = f"all {len(found)} images of it are in {first} too, with the same boxes"
                yield Problem("copied-file", again, said, len(found))
            else:
                yield from found


def _shard_of(name: str) -> str:
    """Of `train.record (a.jpg)` the shard; nothing for a file of its own."""
    return name.rsplit(" (", 1)[0] if name.endswith(")") and " (" in name else ""


def _repeat(one: Any, other: Any, name: str, again: str, splits: list[str | None]) -> Problem:
    if one["split"] != other["split"]:
        detail = f"the same bytes as {name}; one is in {splits[one['split']]}, the other in {splits[other['split']]}"
        return Problem("split-leak", again, detail)
    if name == again and one["boxes"] != other["boxes"]:
        apart = not int(one["classes"]) & int(other["classes"])
        said = f"listed twice, with {one['count']} and with {other['count']} boxes"
        return Problem("image-listed-twice", name, said + (", of other classes each time" if apart else ""))
    slug = "duplicate-image" if one["boxes"] == other["boxes"] else "duplicate-image-different-labels"
    return Problem(slug, again, f"the same bytes as {name}")


def file_of_record(record: Record) -> str:
    """The file to name in a finding: the image, or what it is inside of."""
    image = record.image
    return f"{image.path} ({record.file_name})" if image.in_shard or image.inside else image.path


def _keep(heap: list[tuple], item: tuple, most: int = 50) -> None:  # type: ignore[type-arg]
    if len(heap) < most:
        heapq.heappush(heap, item)
    else:
        heapq.heappushpop(heap, item)


def _label_digest(record: Record) -> int:
    """Equal for equal boxes in any order, within this process."""
    return hash(frozenset((box.name, *box.corners) for box in record.boxes)) & 0xFFFFFFFFFFFFFFFF


def _by_pixels(sizes: Counter[tuple[int, int]]) -> dict[int, int]:
    pixels: Counter[int] = Counter()
    for (width, height), count in sizes.items():
        pixels[width * height] += count
    return dict(pixels)


def percentile(counts: Counter[int], fraction: float) -> int:
    """The smallest value that at least this fraction of all values does not exceed."""
    wanted, seen = fraction * sum(counts.values()), 0
    for value in sorted(counts):
        seen += counts[value]
        if seen >= wanted:
            return value
    return 0


def near_duplicates(names: set[str]) -> list[list[str]]:
    """Groups of names that differ only in case, spaces, hyphens, underscores or the form of accents."""
    groups: dict[str, list[str]] = {}
    for name in sorted(names):
        plain = unicodedata.normalize("NFKC", without_strange_letters(name)).casefold()
        shown = "".join(letter for letter in plain if unicodedata.category(letter) != "Cf")
        groups.setdefault(re.sub(r"[\s_\-.]+", "", shown) or name, []).append(name)
    return [group for group in groups.values() if len(group) > 1]


def id_gaps(ids: Iterable[int]) -> str:
    """The ids that are missing between the smallest and the largest, shortened: "12, 26, 29-30"."""
    known = sorted(set(ids))
    ranges = [(low + 1, high - 1) for low, high in pairwise(known) if high > low + 1]
    shown = [str(low) if low == high else f"{low}-{high}" for low, high in ranges[:8]]
    return ", ".join(shown) + (" …" if len(ranges) > 8 else "")
