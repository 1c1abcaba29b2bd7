"""A table of boxes in memory, and its numbers read as the images show that they were meant."""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from holdfast.data.dataset_reader import Problem
from holdfast.data.files.file_index import FileIndex, ImageFinder
from holdfast.data.images.image_file import upright_size
from holdfast.data.records import ImageRef
from holdfast.data.tables.csv_lists import hold_corners
from holdfast.data.tables.csv_units import infer_box_encoding

CORNERS_BY_NAME = ("boxes", "bounding_boxes", "boxesstring", "boxes_string")
IMAGES_TO_JUDGE = 100  # of a file are looked at
RowSizes = list[tuple[int, tuple[int, int]]]  # a box's place in the file, and the size of its image


@dataclass(frozen=True, slots=True)
class CsvImage:
    """What a table says of one image; rows of two corners, a class and whether it is a crowd, as they are written."""

    name: str
    split: str | None
    width: int | None
    height: int | None
    rows: tuple[tuple[Any, ...], ...]
    lost: int = 0  # rows that cannot be read


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
    lost: dict[int, int]  # image to its rows that cannot be read
    path: str
    plain_corners: bool  # four columns that are taken for two corners in pixels
    headerless: bool
    one_field: str = ""  # the column that holds whole boxes, which may be two corners or a corner and a size

    def listed(self) -> Iterator[CsvImage]:
        for number, image in enumerate(self.images):
            places = self.order[self.starts[number] : self.starts[number + 1]]
            rows = (
                (*self.boxes[4 * at : 4 * at + 4], *self.owners[3 * at + 1 : 3 * at + 3]) for at in places
            )
            yield CsvImage(*image, tuple(rows), self.lost.get(number, 0))

    def without_rows(self) -> CsvFile:
        nothing = array("q")
        return replace(
            self,
            images=[],
            boxes=array("d"),
            owners=nothing,
            starts=nothing,
            order=nothing,
            lost={},
            problems=(),
        )


def with_inferred_units(file: CsvFile, listing: FileIndex, finder: ImageFinder) -> CsvFile:
    """The file with its numbers read as the images show that they were meant."""
    if file.fractions or not len(file.boxes):
        return file
    seen = _row_sizes(file, listing, finder)
    if file.one_field:
        return _with_corners(file, seen)
    return _with_units(file, seen) if file.plain_corners else file


def _row_sizes(file: CsvFile, listing: FileIndex, finder: ImageFinder) -> RowSizes:
    seen: RowSizes = []
    for image, (name, _, width, height) in enumerate(file.images[:IMAGES_TO_JUDGE]):
        found = finder.find(name, near=file.name)
        extent = (width, height) if width and height else None
        extent = extent or (upright_size(ImageRef(listing.path(found))) if found else None)
        if extent is not None:
            places = range(file.starts[image], file.starts[image + 1])
            seen += [(file.order[place], extent) for place in places]
    return seen


def _with_corners(file: CsvFile, seen: RowSizes) -> CsvFile:
    """The file, with the boxes of a single column read as two corners where the images show that they are."""
    boxes = ((_corners_at(file, at), extent) for at, extent in seen)
    if not hold_corners(boxes, otherwise=file.one_field in CORNERS_BY_NAME):
        return file
    corners = array("d", file.boxes)
    for at in range(0, len(corners), 4):
        corners[at + 2], corners[at + 3] = corners[at + 2] - corners[at], corners[at + 3] - corners[at + 1]
    return replace(file, boxes=corners)


def _corners_at(file: CsvFile, at: int) -> tuple[float, float, float, float]:
    x1, y1, x2, y2 = file.boxes[4 * at : 4 * at + 4]
    return x1, y1, x2, y2


def _with_units(file: CsvFile, seen: RowSizes) -> CsvFile:
    """The file, with percent and sizes made corners where nothing but the images says that they are."""
    import numpy as np

    numbers = [_corners_at(file, at) for at, _ in seen]
    meant = infer_box_encoding(numbers, [extent for _, extent in seen], headerless=file.headerless)
    boxes = np.array(file.boxes).reshape(-1, 4)
    said: list[tuple[str, str]] = []
    if meant.sized:
        boxes[:, 2:] += boxes[:, :2]
        said.append(("unusual-column-order", "the numbers are a corner and a size: the images show it"))
    if meant.percent:
        boxes /= 100
        detail = "all numbers are within 0 and 100, and only as percent do they fill the images: read so"
        said.append(("percent-by-evidence", detail))
    if meant.unclear:
        shown = "x".join(map(str, seen[0][1]))
        said.append(("unclear-coordinates", f"all numbers are within 0 and 100, and an image is {shown}"))
    noted = tuple(Problem(slug, file.path, detail) for slug, detail in said)
    return replace(
        file,
        boxes=array("d", boxes.ravel().tolist()),
        fractions=meant.percent,
        one_based=file.one_based and not (meant.percent or meant.sized),
        problems=file.problems + noted,
    )
