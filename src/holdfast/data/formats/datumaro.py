"""Datumaro's JSON: a file a subset in `annotations`, images in `images/<subset>`."""

from __future__ import annotations

from typing import Any

from holdfast.data.dataset_reader import ProblemList
from holdfast.data.files.file_index import FileIndex, stem_of
from holdfast.data.files.parse_numbers import parse_flag, parse_number, parse_size
from holdfast.data.formats.coco_masks import box_of
from holdfast.data.formats.listed import (
    ListedFile,
    ListedFormat,
    ListedImage,
    ShapeList,
    head_of,
    read_json,
)
from holdfast.data.formats.outlines import Corners, around, ellipse, pairs, turned
from holdfast.data.records import Box
from holdfast.errors import UnreadableAnnotation

_NO_SPLIT = ("default", "annotations", "instances")
_WITHOUT_BOX = ("points", "label", "caption", "cuboid_3d", "depth_annotation", "hash_key", "feature_vector")


def looks_like_datumaro(path: str) -> bool:
    head = head_of(path)
    if b'"dm_format_version"' in head:
        return True
    return b'"categories"' in head and b'"label"' in head and b'"labels"' in head and b'"images"' not in head


def read_file(listing: FileIndex, name: str) -> ListedFile:
    path = listing.path(name)
    document = read_json(path)
    items = document.get("items") if isinstance(document, dict) else None
    if not isinstance(items, list):
        raise UnreadableAnnotation('this is not Datumaro\'s JSON: it has no list called "items"', where=path)
    classes = _classes(document)
    problems = ProblemList(path)
    split = None if stem_of(name).lower() in _NO_SPLIT else stem_of(name)
    images = [_image(item, classes, split, problems) for item in items if isinstance(item, dict)]
    return ListedFile(
        name, tuple(images), problems.problems(), {label: at for at, label in enumerate(classes)}
    )


FORMAT = ListedFormat("datumaro", ".json", looks_like_datumaro, read_file)


def _classes(document: dict[str, Any]) -> list[str]:
    """The names in the order of their numbers."""
    categories = document.get("categories")
    label = categories.get("label") if isinstance(categories, dict) else None
    listed = label.get("labels") if isinstance(label, dict) else None
    return (
        [str(one.get("name")) for one in listed if isinstance(one, dict)] if isinstance(listed, list) else []
    )


def _image(item: dict[str, Any], classes: list[str], split: str | None, problems: ProblemList) -> ListedImage:
    identity = str(item.get("id", ""))
    media: dict[str, Any] = next(
        (item[key] for key in ("image", "media") if isinstance(item.get(key), dict)), {}
    )
    file = media.get("path") if isinstance(media.get("path"), str) else ""
    size = media.get("size")
    height, width = map(parse_size, size) if isinstance(size, list) and len(size) == 2 else (None, None)
    shapes = ShapeList(identity, problems)
    for annotation in item.get("annotations") or []:
        if isinstance(annotation, dict):
            _add(annotation, classes, shapes)
    names = tuple(dict.fromkeys(filter(None, (f"{split}/{file}" if split and file else "", file, identity))))
    return ListedImage(
        names or ("?",), tuple(shapes.boxes), width, height, split, lost=shapes.lost, id=identity
    )


def _add(annotation: dict[str, Any], classes: list[str], shapes: ShapeList) -> None:
    kind, number = annotation.get("type"), annotation.get("label_id")
    if kind in _WITHOUT_BOX:
        shapes.no_box(f"an annotation of type {kind!r}, which is no box")
        return
    corners = _corners(annotation)
    if corners is None:
        shapes.lose(f"an annotation of type {kind!r} has no box")
    elif not isinstance(number, int) or not 0 <= number < len(classes):
        shapes.lose(f"label_id {number!r} is not among the {len(classes)} labels", "unknown-class")
    else:
        attributes = annotation.get("attributes")
        marks = attributes if isinstance(attributes, dict) else {}
        shapes.add(
            Box(
                *corners,
                classes[number],
                crowd=parse_flag(marks.get("is_crowd")),
                difficult=parse_flag(marks.get("difficult")),
            )
        )


def _corners(annotation: dict[str, Any]) -> Corners | None:
    kind, box = annotation.get("type"), annotation.get("bbox")
    if kind == "mask":
        sized = box_of(annotation.get("rle"))
        return None if sized is None else (sized[0], sized[1], sized[0] + sized[2], sized[1] + sized[3])
    if kind == "bbox" and isinstance(box, list):
        values = [value for value in map(parse_number, box) if value is not None]
        return (
            (values[0], values[1], values[0] + values[2], values[1] + values[3]) if len(values) == 4 else None
        )
    if kind == "rotated_bbox":
        cx, cy, width, height, degrees = (
            parse_number(annotation.get(key)) or 0.0 for key in ("cx", "cy", "w", "h", "r")
        )
        flat = cx - width / 2, cy - height / 2, cx + width / 2, cy + height / 2
        return turned(flat, degrees, (cx, cy)) if width and height else None
    listed = annotation.get("points")
    points = pairs(map(parse_number, listed)) if isinstance(listed, list) else None
    if points and kind == "ellipse":
        (x1, y1), (x2, y2) = points[0], points[-1]
        return ellipse((x1 + x2) / 2, (y1 + y2) / 2, abs(x2 - x1) / 2, abs(y2 - y1) / 2)
    return around(points) if points else None
