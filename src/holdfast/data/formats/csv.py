"""CSV: a row a box, columns by name in any order; and the headerless ones of keras-retinanet and AutoML.

Whether numbers are fractions, and whether pixels are counted from 1, is read off the numbers of the file.
"""

from __future__ import annotations

import csv
import io
import re
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from holdfast.data.dataset_reader import ParsedEntry, Problem, ProblemList, SourceEntry, ambiguous_image
from holdfast.data.files import filesystem, text_encoding
from holdfast.data.files.file_index import (
    FileIndex,
    ImageFinder,
    display_name,
    is_image,
    portable,
    without_suffix,
)
from holdfast.data.files.parse_numbers import parse_flag, parse_number, parse_size, snap
from holdfast.data.files.splits import split_in_name, split_in_path
from holdfast.data.images.image_file import upright_size
from holdfast.data.records import Box, ImageRef, Record
from holdfast.data.tables.csv_columns import (
    CsvColumns,
    NotABox,
    from_header,
    headerless,
    holds_boxes,
    is_open_images,
    unquoted,
)
from holdfast.data.tables.csv_file import CsvFile, CsvImage, with_inferred_units
from holdfast.data.tables.csv_lists import is_list, parse_boxes
from holdfast.data.tables.csv_units import are_fractions, are_percent, count_from_one
from holdfast.errors import HoldfastError, UnreadableAnnotation

LONGEST_LINE = 64 << 20  # characters; a row may have all boxes of an image in one field


@dataclass(frozen=True, slots=True)
class CsvSource:
    path: str
    listing: FileIndex
    finder: ImageFinder
    files: tuple[CsvFile, ...]
    noted: tuple[Problem, ...] = ()
    format: str = "csv"

    @property
    def relative(self) -> bool:
        return any(file.fractions for file in self.files)

    @property
    def folder_images(self) -> Sequence[str]:
        # A file that was given by name says nothing about the images around it.
        return self.finder.images if self.path == self.listing.root else ()

    def entries(self) -> Iterator[SourceEntry]:
        for number_of, file in enumerate(self.files):
            for position, image in enumerate(file.listed()):
                yield SourceEntry(file.name, image.split, position, number_of, content=image)

    def negatives(self, images: Iterable[str]) -> Iterator[SourceEntry]:
        return iter(())

    def class_ids(self) -> dict[str, int]:
        return {}

    def problems(self) -> tuple[Problem, ...]:
        return self.noted + tuple(problem for file in self.files for problem in file.problems)

    def for_workers(self) -> CsvSource:
        files = tuple(file.without_rows() for file in self.files)
        return replace(self, listing=self.listing.without_files(), files=files, noted=())

    def parse(self, entry: SourceEntry) -> ParsedEntry:
        file, listed = self.files[entry.offset], entry.content
        name, width, height = listed.name, listed.width, listed.height
        found = self.finder.find(name, near=entry.key)
        path = self.listing.path(found) if found else self.finder.expected(name, entry.key)
        extent = (1, 1)
        if file.fractions:
            real = upright_size(ImageRef(path)) or ((width, height) if width and height else None)
            if real is None:
                said = f"{name}: the boxes are fractions, and the image that they are of is not there"
                return ParsedEntry(None, (Problem("missing-image", path, said),))
            extent = real
        boxes = tuple(self._boxes(file, listed, extent))
        image = ImageRef(path, width=width, height=height)
        shown = display_name(name, found)
        identity = without_suffix(portable(shown)) if is_image(shown) else portable(shown)
        file_path = self.listing.path(entry.key)
        frame = "upright" if file.fractions else ""
        record = Record(identity or name, portable(shown), image, boxes, entry.split, file_path, frame)
        unsure = ambiguous_image(self.finder, name, found, entry.key, file_path)
        return ParsedEntry(record, unsure, listed.lost)

    def _boxes(self, file: CsvFile, image: CsvImage, extent: tuple[int, int]) -> Iterator[Box]:
        for x1, y1, x2, y2, label, crowd in image.rows:
            if file.fractions:
                x1, y1, x2, y2 = (
                    snap(value * side, side * 1e-6)
                    for value, side in zip((x1, y1, x2, y2), extent * 2, strict=True)
                )
            elif file.one_based and x1 < x2 and y1 < y2:
                x1, y1 = x1 - 1, y1 - 1
            yield Box(x1, y1, x2, y2, file.classes[label], crowd=bool(crowd))


def open_folder(listing: FileIndex) -> CsvSource | None:
    """The tables of boxes of a folder; None when it has none."""

    found = {name: columns_of(listing.path(name)) for name in listing.with_suffix(".csv", ".tsv")}
    names = [
        name for name, columns in found.items() if columns is not None and not is_open_images(columns[0])
    ]
    return open_source(listing, names, listing.root) if names else None


def open_source(listing: FileIndex, names: Sequence[str], path: str) -> CsvSource:
    finder = ImageFinder.of(listing.root, listing.images())
    files: list[CsvFile] = []
    noted: list[Problem] = []
    for name in names:
        try:
            file = with_inferred_units(read_file(listing, name), listing, finder)
            files.append(replace(file, classes=described(file.classes, listing)))
        except UnreadableAnnotation as error:
            noted.append(Problem("unreadable-annotation", listing.path(name), error.what))
            if len(names) == 1:
                raise
    finder = finder.knowing((name, file.name) for file in files for name, _, _, _ in file.images)
    return CsvSource(path, listing, finder, tuple(files), tuple(noted))


def described(classes: list[str], listing: FileIndex) -> list[str]:
    """Open Images' codes by the names that class-descriptions*.csv gives them: /m/01yrx is a cat."""
    if not any(name.startswith(("/m/", "/g/")) for name in classes):
        return classes
    names: dict[str, str] = {}
    for name in listing.with_suffix(".csv"):
        if "class-descriptions" in name.rsplit("/", 1)[-1]:
            text = text_encoding.text(filesystem.read_bytes(listing.path(name), 0, 16 << 20))
            names.update({row[0]: row[1] for row in csv.reader(io.StringIO(text)) if len(row) > 1 and row[1]})
    return [names.get(name, name) for name in classes]


def columns_of(path: str) -> tuple[CsvColumns, str] | None:
    """The columns and the delimiter, or None when the file is no table of boxes."""
    try:
        head = text_encoding.text(filesystem.read_bytes(path, 0, 1 << 16))
    except HoldfastError:
        return None
    lines = head.split("\n")[_before_table(head) :]
    delimiter = max(",;\t|", key=lines[0].rstrip("\r").count) if lines else ","
    try:
        table = csv.reader(io.StringIO("\n".join(lines)), delimiter=delimiter)
        rows = [row for _, row in zip(range(5), table, strict=False)]
    except csv.Error:
        return None
    if not rows or len(rows[0]) < 2:
        return None
    columns = from_header(rows[0]) or headerless(rows)
    if columns is None or not holds_boxes(columns, rows[1:]):
        return None
    spaced = all(field.startswith(" ") for field in rows[0][1:])
    return replace(columns, decimal_commas=delimiter != ",", spaced=spaced), delimiter


def _before_table(head: str) -> int:
    """How many lines come before the table: empty ones, and the `sep=;` by which Excel is told."""
    lines = head.split("\n")
    table = (at for at, line in enumerate(lines) if line.strip() and not re.match(r"sep=.\s*$", line, re.I))
    return next(table, len(lines))


def read_file(listing: FileIndex, name: str, *, wanted: Callable[[str], bool] | None = None) -> CsvFile:
    """One table; `wanted` leaves out rows of other images before anything is kept of them."""
    path = listing.path(name)
    found = columns_of(path)
    if found is None:
        raise UnreadableAnnotation("the columns of this CSV are not those of a table of boxes", where=path)
    reading = _Reading(path, found[0], split_in_name(name) or split_in_path(name), wanted)
    with filesystem.open_binary(path) as handle:
        head = handle.read(4096)
        written_in = text_encoding.name_of(head[:64])
        before = _before_table(text_encoding.text(head))
        handle.seek(0)
        text = io.TextIOWrapper(handle, written_in, "replace", newline="")
        try:
            for position, row in enumerate(csv.reader(_lines(text, path), delimiter=found[1])):
                if position > before or (position == before and not found[0].has_header):
                    reading.take(row, position + 1)
        except csv.Error as error:
            raise UnreadableAnnotation(f"the CSV cannot be read: {error}", where=path) from None
        except OSError as error:
            raise filesystem.as_file_error(error, path) from None
    return reading.finished(name)


def _lines(text: io.TextIOWrapper, path: str) -> Iterator[str]:
    """Python's own iteration would take a file of zeros as one line."""
    while line := text.readline(LONGEST_LINE):
        if len(line) == LONGEST_LINE:
            raise UnreadableAnnotation(
                f"a line of the CSV is longer than {LONGEST_LINE >> 20} MiB", where=path
            )
        yield line


class _Reading:
    def __init__(
        self, path: str, columns: CsvColumns, split: str | None, wanted: Callable[[str], bool] | None
    ) -> None:
        self.path = path
        self.wanted = wanted
        self.columns = columns
        self.split = split
        self.images: list[tuple[str, str | None, int | None, int | None]] = []
        self.positions: dict[tuple[str, str | None], int] = {}
        self.classes: dict[str, int] = {}
        self.boxes = array("d")
        self.owners = array("q")
        self.problems = ProblemList(path)
        self.lost: dict[int, int] = {}
        self.bare_numbers = False  # boxes of which it is not said whether they are two corners
        self.percent = columns.percent
        self.unread: dict[int, set[str]] = {column: set() for column in columns.unread}
        if columns.odd_order and not is_open_images(columns):  # there it is the usual one
            self.problems.add(
                "unusual-column-order", f"the corners come as {columns.odd_order}; read by name"
            )

    def take(self, row: list[str], line: int) -> None:
        if not any(field.strip() for field in row):
            return
        columns = self.columns
        name = unquoted(columns.text(row, columns.file)).strip()
        if not name:
            self.problems.add("unreadable-annotation", f"line {line}: no image is named")
            return
        if self.wanted is not None and not self.wanted(name):
            return
        split = columns.text(row, columns.split).strip().lower() or self.split
        owner = self._image(name, split, row)
        for column, texts in self.unread.items():
            if len(texts) < 20 and parse_number(text := columns.text(row, column).strip()) is None and text:
                texts.add(text)
        if len(columns.box) == 1 and is_list(columns.text(row, columns.box[0])):
            self._take_list(row, owner, line)
            return
        corners = columns.corners(row)
        label = columns.class_name(row)
        if corners is None:
            return  # the way to write a negative: an image and nothing else
        if isinstance(corners, str) or not label.strip():
            said = corners if isinstance(corners, str) else "no class is named"
            slug = "shape-without-box" if isinstance(corners, NotABox) else "unreadable-annotation"
            self._lose(owner, f"line {line}: {said}", slug)
            return
        self.percent = self.percent or any("%" in columns.text(row, column) for column in columns.box)
        field = columns.text(row, columns.box[0]).lstrip()
        self.bare_numbers = self.bare_numbers or (len(columns.box) == 1 and not field.startswith("{"))
        self._add(owner, label, corners, parse_flag(columns.text(row, columns.crowd)))

    def _take_list(self, row: list[str], owner: int, line: int) -> None:
        columns = self.columns
        field = columns.text(row, columns.box[0])
        boxes = parse_boxes(field, columns.text(row, columns.label))
        if isinstance(boxes, str):
            self._lose(owner, f"line {line}: {boxes}")
            return
        self.bare_numbers = self.bare_numbers or "{" not in field
        for box in boxes:
            self._add(owner, box.label or "object", box.corners, crowd=False)

    def _lose(self, owner: int, said: str, slug: str = "unreadable-annotation") -> None:
        self.lost[owner] = self.lost.get(owner, 0) + 1
        self.problems.add(slug, said)

    def _add(self, owner: int, label: str, corners: tuple[float, float, float, float], crowd: bool) -> None:
        self.boxes.extend(corners)
        slot = self.classes.setdefault(label, len(self.classes))
        self.owners.extend((owner, slot, int(crowd)))

    def _image(self, name: str, split: str | None, row: list[str]) -> int:
        position = self.positions.get((name, split))
        if position is None:
            position = self.positions[name, split] = len(self.images)
            width = parse_size(self.columns.text(row, self.columns.width))
            height = parse_size(self.columns.text(row, self.columns.height))
            self.images.append((name, split, width, height))
        return position

    def finished(self, name: str) -> CsvFile:
        import numpy as np

        for label in self.classes:
            if text_encoding.DAMAGED in label:
                self.problems.add("damaged-text", f"the class {label!r} has bytes that are not UTF-8")
        self._note_unread()
        owners = np.array(self.owners, np.int64).reshape(-1, 3)[:, 0]
        order = np.argsort(owners, kind="stable")
        starts = np.searchsorted(owners[order], np.arange(len(self.images) + 1))
        corners = np.array(self.boxes).reshape(-1, 4)
        if self.percent and are_percent(corners):
            corners = corners / 100
            self.boxes = array("d", corners.ravel().tolist())
        return CsvFile(
            name,
            self.images,
            list(self.classes),
            self.boxes,
            self.owners,
            array("q", starts.tolist()),
            array("q", order.tolist()),
            fractions=are_fractions(corners),
            one_based=self.columns.corner_pairs and count_from_one(corners),
            problems=self.problems.problems(),
            lost=self.lost,
            path=self.path,
            plain_corners=self.columns.corner_pairs and not self.percent,
            headerless=not self.columns.has_header,
            one_field=self.columns.named if self.bare_numbers else "",
        )

    def _note_unread(self) -> None:
        """A table without a known column of classes: every box becomes an "object", which must be said."""
        texts = {column: sorted(found) for column, found in self.unread.items() if found}
        if set(self.classes) == {"object"} and texts:
            shown = "; ".join(
                f"{self.columns.header[at]}: {', '.join(found[:3])}" for at, found in texts.items()
            )
            said = f"every box is called 'object'; columns that were not read: {shown[:150]}"
            self.problems.add("class-column-unknown", said)
