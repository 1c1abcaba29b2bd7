"""CVAT's XML 1.1: `<image>` elements of an image task, or `<track>`s over the frames of a video.

A video's track lists its key frames, in older exports every frame; between two of them a box moves in a straight line,
as it does in CVAT. A frame is the image frame_000012.*, which CVAT writes with "save images".
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from holdfast.data.dataset_reader import ProblemList
from holdfast.data.files import filesystem
from holdfast.data.files.file_index import FileIndex, stem_of
from holdfast.data.files.parse_numbers import parse_flag, parse_integer, parse_number, parse_size
from holdfast.data.formats.listed import (
    LARGEST_FILE_BYTES,
    ListedFile,
    ListedFormat,
    ListedImage,
    ShapeList,
    head_of,
)
from holdfast.data.formats.outlines import Corners, around, ellipse, pairs, turned
from holdfast.data.formats.voc import parse_xml
from holdfast.data.records import Box

_FRAME = re.compile(r"frame_(\d{3,})$", re.IGNORECASE)
_NO_SPLIT = ("", "default")
_SHAPES = ("box", "polygon", "polyline", "points", "ellipse", "mask", "cuboid", "skeleton")


def looks_like_cvat(path: str) -> bool:
    head = head_of(path)
    return b"<annotations" in head and (
        b"<image " in head or b"<track " in head or b"<meta>" in head or b"<version>" in head
    )


def read_file(listing: FileIndex, name: str) -> ListedFile:
    path = listing.path(name)
    data = filesystem.read_bytes(path, 0, LARGEST_FILE_BYTES)
    root = parse_xml(data, path, root_tag="annotations", largest=LARGEST_FILE_BYTES)
    problems = ProblemList(path)
    images = [_image(element, problems) for element in root.iter("image")]
    tracks = list(root.iter("track"))
    if tracks or not images:
        images += _frames(root, tracks, listing, problems)
    return ListedFile(name, tuple(images), problems.problems())


FORMAT = ListedFormat("cvat", ".xml", looks_like_cvat, read_file)


def _image(element: Any, problems: ProblemList) -> ListedImage:
    name = element.get("name") or f"image {element.get('id')}"
    shapes = ShapeList(name, problems)
    for shape in element:
        if shape.tag in _SHAPES:
            _add(shape, shape.get("label") or "", shapes)
    subset = element.get("subset") or ""
    return ListedImage(
        (name,), tuple(shapes.boxes), parse_size(element.get("width")), parse_size(element.get("height")),
        None if subset.lower() in _NO_SPLIT else subset, lost=shapes.lost,
    )  # fmt: skip


def _add(shape: Any, label: str, shapes: ShapeList) -> None:
    corners = _corners(shape)
    if isinstance(corners, str):
        shapes.lose(f"a <{shape.tag}>: {corners}")
    elif corners is None:
        shapes.no_box(f"{label!r} is marked by a <{shape.tag}>, which is no box")
    elif not label:
        shapes.lose(f"a <{shape.tag}> has no label")
    else:
        shapes.add(Box(*corners, label, crowd=_is_crowd(shape)))


def _is_crowd(shape: Any) -> bool:
    return any(
        one.get("name") == "is_crowd" and parse_flag((one.text or "").strip())
        for one in shape.findall("attribute")
    )


def _corners(shape: Any) -> Corners | str | None:
    """The box of a shape; None where it has none by its nature, a sentence where it cannot be read."""
    kind = shape.tag
    if kind in ("points", "skeleton"):
        return None
    if kind in ("polygon", "polyline"):
        points = pairs(map(parse_number, re.split(r"[,;]", shape.get("points") or "")))
        return (around(points) if points else None) or "it has no points"
    if kind == "cuboid":
        numbers = {
            key: parse_number(value) for key, value in shape.items() if re.fullmatch(r"[xy][tb][lr]\d", key)
        }
        points = pairs(
            numbers.get(axis + key[1:]) for key in sorted(numbers) if key[0] == "x" for axis in "xy"
        )
        return (around(points) if points else None) or "it has no corners"
    keys = {
        "box": ("xtl", "ytl", "xbr", "ybr"),
        "ellipse": ("cx", "cy", "rx", "ry"),
        "mask": ("left", "top", "width", "height"),
    }[kind]
    known = [value for value in (parse_number(shape.get(key)) for key in keys) if value is not None]
    if len(known) < 4:
        return f"{', '.join(keys)} are not four numbers"
    a, b, c, d = known
    if kind == "mask":
        return _mask(shape.get("rle") or "", a, b, c, d)
    corners = ellipse(a, b, c, d) if kind == "ellipse" else (a, b, c, d)
    middle = (corners[0] + corners[2]) / 2, (corners[1] + corners[3]) / 2
    return turned(corners, parse_number(shape.get("rotation")) or 0.0, middle)


def _mask(runs: str, left: float, top: float, width: float, height: float) -> Corners | str:
    """The box around the pixels that are set: runs along the rows of the mask's own frame, the first of empty ones."""
    numbers = [parse_integer(run) for run in runs.split(",")] if runs.strip() else []
    row = int(width)
    if not numbers or row < 1:
        return left, top, left + width, top + height
    ends: list[tuple[float, float]] = []
    at = 0
    for place, run in enumerate(numbers):
        if run is None or run < 0:
            return "its rle is no list of runs"
        if place % 2 and run:
            first, last = at, at + run - 1
            whole = first // row != last // row  # into the next row: through its end, and from its begin
            ends += [
                (0 if whole else first % row, first // row),
                (row if whole else last % row + 1, last // row + 1),
            ]
        at += run
    box = around(ends)
    return (
        "its rle sets no pixel" if box is None else (left + box[0], top + box[1], left + box[2], top + box[3])
    )


# -- videos -------------------------------------------------------------------------------------


def _frames(root: Any, tracks: list[Any], listing: FileIndex, problems: ProblemList) -> Iterator[ListedImage]:
    """Every frame with a box, and the frames of the folder that have none."""
    shapes: dict[int, ShapeList] = {}
    for track in tracks:
        label = track.get("label") or ""
        for frame, shape in _shown(track):
            collected = shapes.setdefault(frame, ShapeList(_name(frame), problems))
            if isinstance(shape, tuple):
                x1, y1, x2, y2 = shape
                collected.add(Box(x1, y1, x2, y2, label))
            else:
                _add(shape, label, collected)
    files = {int(found[1]): name for name in listing.images() if (found := _FRAME.search(stem_of(name)))}
    if tracks and not files:
        problems.add("video-without-frames", root.findtext("meta//source") or "its name is not given")
    size = root.find("meta//original_size")
    width, height = (
        parse_size(None if size is None else size.findtext(side)) for side in ("width", "height")
    )
    for frame in sorted({*shapes, *files} if tracks else shapes):
        collected = shapes.get(frame) or ShapeList(_name(frame), problems)
        yield ListedImage(
            (files.get(frame, _name(frame)),), tuple(collected.boxes), width, height, lost=collected.lost
        )


def _name(frame: int) -> str:
    return f"frame_{frame:06d}.png"


def _shown(track: Any) -> Iterator[tuple[int, Any]]:
    """A track's shapes by frame: those that are listed, and the boxes between two that are not next to each other."""
    listed = [(frame, shape) for shape in track if (frame := parse_integer(shape.get("frame"))) is not None]
    listed.sort(key=lambda pair: pair[0])
    before: tuple[int, Corners] | None = None
    for frame, shape in listed:
        hidden = parse_flag(shape.get("outside"))
        corners = _corners(shape) if shape.tag in _SHAPES else None
        if before is not None and isinstance(corners, tuple):
            yield from _between(before, (frame, before[1] if hidden else corners))
        if not hidden:
            yield frame, shape
        before = (frame, corners) if isinstance(corners, tuple) and not hidden else None


def _between(first: tuple[int, Corners], last: tuple[int, Corners]) -> Iterator[tuple[int, Corners]]:
    (start, begin), (stop, end) = first, last
    for frame in range(start + 1, stop):
        part = (frame - start) / (stop - start)
        x1, y1, x2, y2 = (a + (b - a) * part for a, b in zip(begin, end, strict=True))
        yield frame, (x1, y1, x2, y2)
