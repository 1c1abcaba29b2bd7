"""A table of boxes, on disk where it is long, and its numbers read as the images show that they were meant."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, Literal

import numpy as np

from holdfast.data.dataset_reader import Problem
from holdfast.data.files.file_index import FileIndex, ImageFinder
from holdfast.data.files.packed_list import TOGETHER
from holdfast.data.images.image_file import upright_size
from holdfast.data.records import ImageRef
from holdfast.data.tables.csv_lists import hold_corners
from holdfast.data.tables.csv_units import infer_box_encoding
from holdfast.data.tables.row_groups import RowGroups, blocks

CORNERS_BY_NAME = ("boxes", "bounding_boxes", "boxesstring", "boxes_string")
IMAGES_TO_JUDGE = 100  # of a file are looked at
ROW = "<4dqiB"  # two corners, the image, the class, whether it is a crowd
COLUMNS = np.dtype([("corners", "<f8", 4), ("image", "<i8"), ("slot", "<i4"), ("crowd", "u1")])  # as in ROW

#: What is done to the four numbers of a row, in this order: percent to fractions; c and d of `x, y, x + c, y + d`
#: taken for the far corner; a size made a far corner.
Step = Literal["percent", "far corner", "size"]
ListedName = tuple[str, str | None, int | None, int | None]  # name, split, width, height
SizedBox = tuple[tuple[float, float, float, float], tuple[int, int]]  # a box, and the size of its image


@dataclass(frozen=True, slots=True)
class CsvImage:
    """What a table says of one image; rows of two corners, a class and whether it is a crowd, as they are written."""

    name: str
    split: str | None
    width: int | None
    height: int | None
    rows: tuple[tuple[Any, ...], ...]
    lost: int = 0  # rows that cannot be read


class CsvRows:
    """The rows that have a box, by image. `lost` has for each row that cannot be read its image."""

    def __init__(self, packed: memoryview, lost: memoryview, images: int) -> None:
        self._table = np.frombuffer(packed, COLUMNS)
        self._groups = RowGroups(self._table["image"], images)
        self._lost = RowGroups(np.frombuffer(lost, "<i8"), images) if len(lost) else None

    def __len__(self) -> int:
        return len(self._table)

    def corners(self, steps: Sequence[Step] = ()) -> Iterator[Any]:
        """Of all rows, in blocks."""
        for block in blocks(len(self._table)):
            yield converted(self._table["corners"][block], steps)

    def of_images(
        self, start: int, stop: int, steps: Sequence[Step]
    ) -> Iterator[tuple[tuple[tuple[Any, ...], ...], int]]:
        """Of each image its rows, and how many cannot be read."""
        places, bounds = self._groups.of_images(start, stop)
        part = self._table[places]
        corners = converted(part["corners"], steps).tolist()
        rows = [
            (*box, slot, crowd)
            for box, slot, crowd in zip(corners, part["slot"].tolist(), part["crowd"].tolist(), strict=True)
        ]
        lost = self._lost.of_images(start, stop)[1] if self._lost else [0] * len(bounds)
        for at in range(stop - start):
            yield tuple(rows[bounds[at] : bounds[at + 1]]), lost[at + 1] - lost[at]


def converted(corners: Any, steps: Sequence[Step]) -> Any:
    read = np.array(corners)
    for step in steps:
        if step == "percent":
            read /= 100
        elif step == "far corner":
            read[:, 2:] -= read[:, :2]
        else:
            read[:, 2:] += read[:, :2]
    return read


@dataclass(slots=True)
class CsvFile:
    name: str
    images: Sequence[ListedName]
    classes: list[str]
    rows: CsvRows | None  # None in workers
    steps: tuple[Step, ...]
    fractions: bool
    one_based: bool
    problems: tuple[Problem, ...]
    path: str
    plain_corners: bool  # four columns that are taken for two corners in pixels
    headerless: bool
    one_field: str = ""  # the column that holds whole boxes, which may be two corners or a corner and a size

    def listed(self) -> Iterator[CsvImage]:
        if self.rows is None:
            return
        images = iter(self.images)
        for start in range(0, len(self.images), TOGETHER):
            stop = min(start + TOGETHER, len(self.images))
            for rows, lost in self.rows.of_images(start, stop, self.steps):
                yield CsvImage(*next(images), rows, lost)

    def without_rows(self) -> CsvFile:
        return replace(self, images=(), rows=None, problems=())


def with_inferred_units(file: CsvFile, listing: FileIndex, finder: ImageFinder) -> CsvFile:
    """The file with its numbers read as the images show that they were meant."""
    if file.fractions or not file.rows:
        return file
    if not file.one_field and not file.plain_corners:
        return file
    seen = _sized_boxes(file, listing, finder)
    return _with_corners(file, seen) if file.one_field else _with_units(file, seen)


def _sized_boxes(file: CsvFile, listing: FileIndex, finder: ImageFinder) -> list[SizedBox]:
    seen: list[SizedBox] = []
    for image in islice(file.listed(), IMAGES_TO_JUDGE):
        found = finder.find(image.name, near=file.name)
        extent = (image.width, image.height) if image.width and image.height else None
        extent = extent or (upright_size(ImageRef(listing.path(found))) if found else None)
        if extent is not None:
            seen += [((x1, y1, x2, y2), extent) for x1, y1, x2, y2, *_ in image.rows]
    return seen


def _with_corners(file: CsvFile, seen: list[SizedBox]) -> CsvFile:
    """The file, with the boxes of a single column read as two corners where the images show that they are."""
    if not hold_corners(seen, otherwise=file.one_field in CORNERS_BY_NAME):
        return file
    return replace(file, steps=(*file.steps, "far corner"))


def _with_units(file: CsvFile, seen: list[SizedBox]) -> CsvFile:
    """The file, with percent and sizes made corners where nothing but the images says that they are."""
    numbers, extents = [box for box, _ in seen], [extent for _, extent in seen]
    meant = infer_box_encoding(numbers, extents, headerless=file.headerless)
    steps: list[Step] = []
    said: list[tuple[str, str]] = []
    if meant.sized:
        steps.append("size")
        said.append(("unusual-column-order", "the numbers are a corner and a size: the images show it"))
    if meant.percent:
        steps.append("percent")
        detail = "all numbers are within 0 and 100, and only as percent do they fill the images: read so"
        said.append(("percent-by-evidence", detail))
    if meant.unclear:
        shown = "x".join(map(str, seen[0][1]))
        said.append(("unclear-coordinates", f"all numbers are within 0 and 100, and an image is {shown}"))
    return replace(
        file,
        steps=(*file.steps, *steps),
        fractions=meant.percent,
        one_based=file.one_based and not (meant.percent or meant.sized),
        problems=file.problems + tuple(Problem(slug, file.path, detail) for slug, detail in said),
    )
