"""Boxes in another convention than the format's: as they are read many leave their images, read another way none does.

One box outside its image is a slip of the hand. A tenth of all boxes outside, and none once the numbers are taken for
centres, is a program that wrote centres. Only what the numbers of a whole split prove is said.
"""

from __future__ import annotations

import math
import random
import re
from array import array
from collections.abc import Callable, Iterator
from typing import Any

from holdfast.data.dataset_reader import Problem
from holdfast.data.files.splits import split_in_path
from holdfast.data.images.image_file import ImageFacts
from holdfast.data.images.image_rules import frame_size
from holdfast.data.records import Record

SAMPLE = 4000  # boxes of a split
MOST_SPLITS = 16
MOST_SOURCES = 32  # of files, by the beginnings of their names
FEWEST_OF_SOURCE = 20  # boxes
FEWEST_IMAGES = 3  # of which all boxes are in another unit
FEWEST = 10  # boxes from which anything is said
WRONG = 0.08  # of the boxes leave their images as they are read, or more
RIGHT = 0.01  # of them do when read another way, or fewer
#: Of the boxes end to the right of their image or below it, and none begins outside: those of a larger image do.
LARGER = 0.3
PLAINLY_LARGER = 0.6  # where there are fewer than 30 boxes
#: What is a consequence of a wrong convention, and is repaired by no cut at the edge.
CONSEQUENCES = frozenset(
    ("outside-box", "edge-rounding", "inverted-box", "zero-area-box", "corners-as-size", "tiny-box")
)
#: Formats that hold a corner and a size, and those whose tables may hold either.
SIZED = frozenset(("coco", "via", "datumaro", "label-studio", "csv", "parquet"))
_CORNERS = frozenset(("voc", "labelme", "cvat", "supervisely", "tfrecord", "open-images", "csv", "parquet"))

_BEGIN = re.compile(r"[^\W\d_]{2,}")

Reader = Callable[
    [Any, Any], Any
]  # (n, 4) corners as read and (n, 2) sides of the images to the corners meant


class BoxSample:
    """A fair sample of the boxes of each split, of a bounded size (reservoir sampling)."""

    def __init__(self) -> None:
        self._numbers: dict[str | None, array[float]] = {}
        self._counts: dict[str | None, int] = {}
        self._sources: dict[str, int] = {}
        self._random = random.Random(0)
        self._fractions: list[
            tuple[str, int]
        ] = []  # images whose boxes are all fractions, and how many these are

    def add(self, record: Record, facts: ImageFacts, *, relative: bool, format: str = "") -> None:
        size = None if facts.problem else frame_size(record, facts, relative=relative)
        if size is None or (record.split not in self._numbers and len(self._numbers) >= MOST_SPLITS):
            return
        if _all_fractions(record, size, percent=format == "label-studio"):
            self._fractions.append((record.file_name, len(record.boxes)))
        kept = self._numbers.setdefault(record.split, array("d"))
        count = self._counts.get(record.split, 0)
        source = self._source_of(record.file_name)
        for box in record.boxes:
            row = array("d", (*box.corners, *size, math.nan if box.area is None else box.area, source))
            count += 1
            if len(kept) < 8 * SAMPLE:
                kept.extend(row)
            elif (slot := self._random.randrange(count)) < SAMPLE:
                kept[8 * slot : 8 * slot + 8] = row
        self._counts[record.split] = count

    def problems(self, format: str, path: str, *, relative: bool) -> tuple[list[Problem], bool]:
        """What the boxes of each split are in, and whether that accounts for all boxes that are outside."""
        import numpy as np

        found: list[Problem] = []
        unclear: list[Any] = []
        for split, numbers in self._numbers.items():
            rows = np.array(numbers).reshape(-1, 8)
            rows = rows[np.isfinite(rows[:, :6]).all(axis=1)]
            slug, said = _convention(rows, format, relative=relative) or ("", "")
            if slug:
                where = f"{split}: " if split is not None else ""
                found.append(Problem(slug, path, where + said, self._counts[split]))
            else:
                unclear.append(rows)
        rest = np.concatenate(unclear) if unclear else np.zeros((0, 8))
        for slug, said, source in list(self._of_sources(rest, format, relative=relative)):
            own = rest[:, 7] == source
            found.append(Problem(slug, path, said, int(own.sum())))
            rest = rest[~own]
        accounted = not _outside(rest[:, :4], rest[:, 4:6]).any()
        if not found:
            found += self._some_fractions(path)
        return found, accounted

    def _source_of(self, name: str) -> int:
        """Files of one folder whose names begin and end alike may be of one camera, person or program."""
        *folders, own = name.split("/")
        place = "".join(f"{one}/" for one in folders if not split_in_path(f"{one}/"))
        begin, ending = _BEGIN.match(own), own.rpartition(".")[2]
        source = f"{place}{begin[0] if begin else ''}*.{ending}"
        if source not in self._sources and len(self._sources) >= MOST_SOURCES:
            return -1
        return self._sources.setdefault(source, len(self._sources))

    def _of_sources(self, rows: Any, format: str, *, relative: bool) -> Iterator[tuple[str, str, int]]:
        """What the boxes of single sources are in, where those of their splits are not all alike."""
        for source, number in self._sources.items():
            own = rows[:, 7] == number
            if FEWEST_OF_SOURCE <= own.sum() < len(rows):
                slug, said = _convention(rows[own], format, relative=relative) or ("", "")
                if slug:
                    yield slug, f"{source}: {said}", number

    def _some_fractions(self, path: str) -> Iterator[Problem]:
        """Images of which all boxes are in another unit than those of the rest."""
        boxes = sum(count for _, count in self._fractions)
        if len(self._fractions) >= FEWEST_IMAGES and boxes >= FEWEST:
            said = f"all {boxes} boxes of {len(self._fractions)} images are fractions, the first of them "
            yield Problem("fractions-as-pixels", path, f"{said}{self._fractions[0][0]}", boxes)


def _all_fractions(record: Record, size: tuple[int, int], *, percent: bool) -> bool:
    """Every number between 0 and 1, most of them broken; of percent these come out as a hundredth of the image."""
    units = (size[0] / 100, size[1] / 100) * 2 if percent else (1.0,) * 4
    numbers = [corner / unit for box in record.boxes for corner, unit in zip(box.corners, units, strict=True)]
    if not numbers or min(size) < 32 or not all(0 <= number <= 1.001 for number in numbers):
        return False
    return max(numbers) > 0.2 and sum(number % 1 != 0 for number in numbers) > 0.5 * len(numbers)


def _convention(rows: Any, format: str, *, relative: bool) -> tuple[str, str] | None:
    if len(rows) < FEWEST:
        return None
    read, sides = rows[:, :4], rows[:, 4:6]
    if not relative and _are_fractions(read, sides):
        width, height = (int(side) for side in sides[0])
        return (
            "fractions-as-pixels",
            f"nearly all numbers are between 0 and 1, in images of {width}x{height} and so on",
        )
    wrong = _outside(read, sides)
    count = int(wrong.sum())
    if wrong.mean() >= WRONG and count >= 5:
        for slug, how, meant in _other_readings(format, relative=relative):
            still = _outside(meant(read, sides), sides)
            if still.mean() <= RIGHT and 10 * still.sum() <= count:
                return slug, f"{count} of {len(rows)} boxes do not fit their images; {how}, {_fit(still)}"
        return None if relative else _another_size(read, sides, count)
    if format in SIZED and not relative:
        return _hidden_corners(rows)
    return None


def _fit(outside: Any) -> str:
    return f"all but {int(outside.sum())} fit" if outside.any() else "all of them fit"


def _outside(corners: Any, sides: Any) -> Any:
    """Beyond the image by more than a careless hand, or without an area."""
    import numpy as np

    slack = np.maximum(1.5, 0.01 * sides)
    beyond = (corners[:, :2] < -slack) | (corners[:, 2:] > sides + slack)
    return beyond.any(axis=1) | (corners[:, 2:] <= corners[:, :2]).any(axis=1)


def _are_fractions(read: Any, sides: Any) -> bool:
    inside = (read >= -1.5) & (read <= 1.5)
    return bool(inside.mean() > 0.95 and (read % 1 != 0).mean() > 0.5 and sides.min() > 16)


# -- other ways to read the same numbers --------------------------------------------------------


def _other_readings(format: str, *, relative: bool) -> Iterator[tuple[str, str, Reader]]:
    """The conventions that programs confuse with this format's, those first that fit by chance least often."""
    if format == "yolo":
        yield "corners-as-centre", "read as [x1, y1, x2, y2]", _corners_in_centre
        yield "corner-as-centre", "read as [left, top, width, height]", _corner_in_centre
    if format in SIZED:
        yield "corners-as-size", "read as [x1, y1, x2, y2]", _corners_in_size
        yield "corners-as-size", "read as [y1, x1, y2, x2]", _exchanged_corners_in_size
    if format in _CORNERS:
        yield "size-as-corners", "read as [left, top, width, height]", _size_in_corners
        yield "centre-as-corners", "read as [centre x, centre y, width, height]", _centre_in_corners
    if format in SIZED:
        yield "centre-as-corner", "read as [centre x, centre y, width, height]", _centre_in_corner
    if relative:
        yield "sides-exchanged", "with x divided by the width and y by the height", _sides_exchanged
    else:
        yield "axes-exchanged", "with x and y exchanged", _axes_exchanged


def _corners_in_size(read: Any, sides: Any) -> Any:
    return _joined(read[:, :2], read[:, 2:] - read[:, :2])


def _exchanged_corners_in_size(read: Any, sides: Any) -> Any:
    return _axes_exchanged(_corners_in_size(read, sides), sides)


def _centre_in_corners(read: Any, sides: Any) -> Any:
    return _joined(read[:, :2] - read[:, 2:] / 2, read[:, :2] + read[:, 2:] / 2)


def _size_in_corners(read: Any, sides: Any) -> Any:
    return _joined(read[:, :2], read[:, :2] + read[:, 2:])


def _centre_in_corner(read: Any, sides: Any) -> Any:
    half = (read[:, 2:] - read[:, :2]) / 2
    return _joined(read[:, :2] - half, read[:, :2] + half)


def _corner_in_centre(read: Any, sides: Any) -> Any:
    half = (read[:, 2:] - read[:, :2]) / 2
    return _joined(read[:, :2] + half, read[:, 2:] + half)


def _corners_in_centre(read: Any, sides: Any) -> Any:
    return _joined((read[:, :2] + read[:, 2:]) / 2, read[:, 2:] - read[:, :2])


def _axes_exchanged(read: Any, sides: Any) -> Any:
    return read[:, [1, 0, 3, 2]]


def _sides_exchanged(read: Any, sides: Any) -> Any:
    ratio = sides[:, ::-1] / sides
    return _joined(read[:, :2] * ratio, read[:, 2:] * ratio)


def _joined(left: Any, right: Any) -> Any:
    import numpy as np

    return np.concatenate((left, right), axis=1)


# -- boxes of other images, and corners that stay inside ----------------------------------------


def _another_size(read: Any, sides: Any, count: int) -> tuple[str, str] | None:
    """Boxes that fill images of another size: they end at common edges, reach equally far across and down, or many
    end outside and none begins there."""
    import numpy as np

    far = read[:, 2:]
    reach = (far / sides).max(axis=0)
    if (read[:, :2] < -2).any() or reach.max() < 1.15:
        return None
    crowd = (far > 0.97 * reach * sides).sum(axis=0)  # a single wild box reaches far alone
    edges = np.array([(far[:, axis] >= far[:, axis].max() - 1.5).sum() for axis in (0, 1)])
    equal = reach.min() > 0.85 * reach.max() and crowd.min() >= 3 and count >= 0.2 * len(read)
    past = ((far > sides + np.maximum(1.5, 0.01 * sides)) & (far > read[:, :2])).any(axis=1)
    many = past.mean() >= LARGER and 20 * past.sum() >= 19 * count
    if len(read) < 30:
        if not (many and past.mean() >= PLAINLY_LARGER):
            return None
    elif not (equal or edges.min() >= 3 or many):
        return None
    said = (
        f"{count} of {len(read)} boxes do not fit their images; all fit images {reach[0]:.2f} times as wide"
    )
    said += f" and {reach[1]:.2f} times as high"
    if (sides == sides[0]).all():
        width, height = (round(float(value)) for value in reach * sides[0])
        said += f" ({width}x{height} instead of {int(sides[0][0])}x{int(sides[0][1])})"
    return "boxes-of-another-size", said


def _hidden_corners(rows: Any) -> tuple[str, str] | None:
    """Two corners in place of a corner and a size, where the objects lie so that next to none leaves its image.

    The area gives it away; or the "size" grows with the corner, as no object's does.
    """
    import numpy as np

    read = rows[:, :4]
    low, size, areas = read[:, :2], read[:, 2:] - read[:, :2], rows[:, 6]
    real = (size - low).prod(axis=1)
    known = np.isfinite(areas) & (areas > 0)
    if known.sum() >= FEWEST and known.mean() > 0.9 and (size > low).all(axis=1)[known].mean() > 0.98:
        as_corners = (np.abs(areas - real) <= 0.02 * real + 1)[known].mean()
        as_sizes = (areas <= 1.02 * size.prod(axis=1))[known].mean()
        other = (np.abs(areas - size.prod(axis=1)) > 0.05 * areas)[known].mean()
        if as_corners > 0.9 and other > 0.9 and as_sizes > 0.5:
            return (
                "corners-as-size",
                "`area` is (x2 - x1) * (y2 - y1) of the four numbers, not width * height",
            )
    if len(rows) < 30 or not (size > low).all() or (low.std(axis=0) < 1).any():
        return None
    if all(np.corrcoef(low[:, axis], size[:, axis])[0, 1] > 0.8 for axis in (0, 1)):
        return (
            "corners-as-size",
            "each size is larger than its corner and grows with it, as only a second corner does",
        )
    return None
