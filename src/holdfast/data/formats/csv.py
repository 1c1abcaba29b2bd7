"""CSV: a row a box, columns by name in any order; and the headerless ones of keras-retinanet and AutoML.

Whether numbers are fractions, and whether pixels are counted from 1, is read off the numbers of the file.
"""

from __future__ import annotations

import csv
import io
from array import array
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from holdfast.data import encoding, storage
from holdfast.data.formats.csv_columns import Columns, from_header, headerless, unquoted
from holdfast.data.listing import (
    Listing,
    PictureFinder,
    portable,
    split_in_name,
    split_in_path,
    without_suffix,
)
from holdfast.data.numbers import flag, size, snap
from holdfast.data.pictures import upright_size
from holdfast.data.records import Box, Picture, Record
from holdfast.data.source import Entry, Parsed, Problem, ProblemList, ambiguity
from holdfast.errors import HoldfastError, UnreadableAnnotation

ONES_THAT_PROVE = 8  # this many corners at 1 and none at 0: the first pixel is called 1


@dataclass(slots=True)
class CsvFile:
    """One file, compact: about 60 bytes a row."""

    name: str
    images: list[tuple[str, str | None, int | None, int | None]]  # name, split, width, height
    classes: list[str]
    boxes: array[float]
    owners: array[int]  # image, class, crowd
    starts: array[int]
    order: array[int]
    fractions: bool
    one_based: bool
    problems: tuple[Problem, ...]


@dataclass(frozen=True, slots=True)
class CsvSource:
    path: str
    listing: Listing
    finder: PictureFinder
    files: tuple[CsvFile, ...]
    noted: tuple[Problem, ...] = ()
    format: str = "csv"

    @property
    def relative(self) -> bool:
        return any(file.fractions for file in self.files)

    @property
    def folder_pictures(self) -> tuple[str, ...]:
        # A file that was given by name says nothing about the pictures around it.
        return tuple(sorted(self.finder.pictures)) if self.path == self.listing.root else ()

    def entries(self) -> Iterator[Entry]:
        for number_of, file in enumerate(self.files):
            for position, (_, split, _, _) in enumerate(file.images):
                yield Entry(file.name, split, position, number_of)

    def negatives(self, pictures: Iterable[str]) -> Iterator[Entry]:
        return iter(())

    def class_ids(self) -> dict[str, int]:
        return {}

    def problems(self) -> tuple[Problem, ...]:
        return self.noted + tuple(problem for file in self.files for problem in file.problems)

    def parse(self, entry: Entry) -> Parsed:
        file = self.files[entry.offset]
        name, _, width, height = file.images[entry.position]
        found = self.finder.find(name, near=entry.key)
        path = self.listing.path(found) if found else self.finder.expected(name, entry.key)
        extent = (1, 1)
        if file.fractions:
            real = upright_size(Picture(path)) or ((width, height) if width and height else None)
            if real is None:
                said = f"{name}: the boxes are fractions, and the picture that they are of is not there"
                return Parsed(None, (Problem("missing-image", path, said),))
            extent = real
        boxes = tuple(self._boxes(file, entry.position, extent))
        picture = Picture(path, width=width, height=height)
        identity = without_suffix(portable(name)) or name
        file_path = self.listing.path(entry.key)
        record = Record(identity, portable(name), picture, boxes, entry.split, file_path)
        return Parsed(record, ambiguity(self.finder, name, found, entry.key, file_path))

    def _boxes(self, file: CsvFile, image: int, extent: tuple[int, int]) -> Iterator[Box]:
        for place in range(file.starts[image], file.starts[image + 1]):
            at = file.order[place]
            _, label, crowd = file.owners[3 * at : 3 * at + 3]
            x1, y1, x2, y2 = file.boxes[4 * at : 4 * at + 4]
            if file.fractions:
                x1, y1, x2, y2 = (
                    snap(value * side, side * 1e-6)
                    for value, side in zip((x1, y1, x2, y2), extent * 2, strict=True)
                )
            elif file.one_based and x1 < x2 and y1 < y2:
                x1, y1 = x1 - 1, y1 - 1
            yield Box(x1, y1, x2, y2, file.classes[label], crowd=bool(crowd))


def open_source(listing: Listing, names: list[str], path: str) -> CsvSource:
    finder = PictureFinder.of(listing.root, listing.pictures())
    files: list[CsvFile] = []
    noted: list[Problem] = []
    for name in names:
        try:
            files.append(read_file(listing, name))
        except UnreadableAnnotation as error:
            noted.append(Problem("unreadable-annotation", listing.path(name), error.what))
            if len(names) == 1:
                raise
    return CsvSource(path, listing, finder, tuple(files), tuple(noted))


def columns_of(path: str) -> tuple[Columns, str] | None:
    """The columns and the delimiter, or None when the file is no table of boxes."""
    try:
        head = encoding.text(storage.read_bytes(path, 0, 1 << 16))
    except HoldfastError:
        return None
    line = head.split("\n", 1)[0].rstrip("\r")
    delimiter = max(",;\t|", key=line.count)
    try:
        rows = [
            row for _, row in zip(range(5), csv.reader(io.StringIO(head), delimiter=delimiter), strict=False)
        ]
    except csv.Error:
        return None
    if not rows or len(rows[0]) < 3:
        return None
    columns = from_header(rows[0]) or headerless(rows)
    if columns is None:
        return None
    spaced = all(field.startswith(" ") for field in rows[0][1:])
    return replace(columns, decimal_commas=delimiter != ",", spaced=spaced), delimiter


def read_file(listing: Listing, name: str) -> CsvFile:
    path = listing.path(name)
    found = columns_of(path)
    if found is None:
        raise UnreadableAnnotation("the columns of this CSV are not those of a table of boxes", where=path)
    reading = _Reading(path, found[0], split_in_name(name) or split_in_path(name))
    with storage.open_binary(path) as handle:
        written_in = encoding.name_of(handle.read(64))
        handle.seek(0)
        text = io.TextIOWrapper(handle, written_in, "replace", newline="")
        try:
            for position, row in enumerate(csv.reader(text, delimiter=found[1])):
                if position or not found[0].has_header:
                    reading.take(row, position + 1)
        except csv.Error as error:
            raise UnreadableAnnotation(f"the CSV cannot be read: {error}", where=path) from None
        except OSError as error:
            raise storage.as_file_error(error, path) from None
    return reading.finished(name)


class _Reading:
    def __init__(self, path: str, columns: Columns, split: str | None) -> None:
        self.columns = columns
        self.split = split
        self.images: list[tuple[str, str | None, int | None, int | None]] = []
        self.positions: dict[tuple[str, str | None], int] = {}
        self.classes: dict[str, int] = {}
        self.boxes = array("d")
        self.owners = array("q")
        self.problems = ProblemList(path)
        if columns.odd_order:
            self.problems.add(
                "unusual-column-order", f"the corners come as {columns.odd_order}; read by name"
            )

    def take(self, row: list[str], line: int) -> None:
        if not any(field.strip() for field in row):
            return
        columns = self.columns
        name = unquoted(columns.text(row, columns.file)).strip()
        if not name:
            self.problems.add("unreadable-annotation", f"line {line}: no picture is named")
            return
        split = columns.text(row, columns.split).strip().lower() or self.split
        owner = self._image(name, split, row)
        corners = columns.corners(row)
        label = columns.class_name(row)
        if corners is None:
            return  # the way to write a negative: a picture and nothing else
        if isinstance(corners, str) or not label.strip():
            said = corners if isinstance(corners, str) else "no class is named"
            self.problems.add("unreadable-annotation", f"line {line}: {said}")
            return
        self.boxes.extend(corners)
        slot = self.classes.setdefault(label, len(self.classes))
        self.owners.extend((owner, slot, int(flag(columns.text(row, columns.crowd)))))

    def _image(self, name: str, split: str | None, row: list[str]) -> int:
        position = self.positions.get((name, split))
        if position is None:
            position = self.positions[name, split] = len(self.images)
            width = size(self.columns.text(row, self.columns.width))
            height = size(self.columns.text(row, self.columns.height))
            self.images.append((name, split, width, height))
        return position

    def finished(self, name: str) -> CsvFile:
        import numpy as np

        for label in self.classes:
            if encoding.DAMAGED in label:
                self.problems.add("damaged-text", f"the class {label!r} has bytes that are not UTF-8")
        owners = np.array(self.owners, np.int64).reshape(-1, 3)[:, 0]
        order = np.argsort(owners, kind="stable")
        starts = np.searchsorted(owners[order], np.arange(len(self.images) + 1))
        corners = np.array(self.boxes).reshape(-1, 4)
        return CsvFile(
            name,
            self.images,
            list(self.classes),
            self.boxes,
            self.owners,
            array("q", starts.tolist()),
            array("q", order.tolist()),
            fractions=_are_fractions(corners),
            one_based=self.columns.corner_pairs and _counts_from_one(corners),
            problems=self.problems.problems(),
        )


def _are_fractions(corners: object) -> bool:
    """Nearly all within 0 and 1, and not merely boxes of one pixel."""
    import numpy as np

    values = np.asarray(corners, float)
    finite = values[np.isfinite(values)]
    if not finite.size:
        return False
    inside = (finite >= -0.5) & (finite <= 1.5)
    return bool(inside.mean() > 0.95 and (finite % 1 != 0).mean() > 0.5)


def _counts_from_one(corners: object) -> bool:
    import numpy as np

    lows = np.asarray(corners, float)[:, :2]
    return bool(
        lows.size and (lows % 1 == 0).all() and (lows == 1).sum() >= ONES_THAT_PROVE and lows.min() >= 1
    )
