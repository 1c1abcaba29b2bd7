"""CSV: a row a box, columns by name in any order; and the headerless ones of keras-retinanet and AutoML.

Whether numbers are fractions, and whether pixels are counted from 1, is read off the numbers of the file.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from holdfast.data.dataset_reader import ParsedEntry, Problem, SourceEntry, ambiguous_image
from holdfast.data.files import filesystem, text_encoding
from holdfast.data.files.file_index import (
    FileIndex,
    ImageFinder,
    display_name,
    is_image,
    portable,
    without_suffix,
)
from holdfast.data.files.parse_numbers import snap
from holdfast.data.files.splits import split_in_name, split_in_path
from holdfast.data.images.image_file import upright_size
from holdfast.data.records import Box, ImageRef, Record
from holdfast.data.tables.csv_columns import (
    CsvColumns,
    from_header,
    headerless,
    holds_boxes,
    is_open_images,
)
from holdfast.data.tables.csv_file import CsvFile, CsvImage, with_inferred_units
from holdfast.data.tables.csv_rows import RowReader
from holdfast.data.tables.thousands import has_thousands
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
    reading = RowReader(path, found[0], split_in_name(name) or split_in_path(name), wanted)
    reading.thousands = has_thousands(path, found[0], found[1])
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
