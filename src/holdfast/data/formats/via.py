"""The VGG Image Annotator's JSON: a project or an export of version 1 or 2, or a project of version 3.

Its CSV has a table's columns, and is read with the tables (`csv`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from holdfast.data.dataset_reader import ProblemList
from holdfast.data.files.file_index import FileIndex
from holdfast.data.files.parse_numbers import parse_number
from holdfast.data.formats.listed import (
    ListedFile,
    ListedFormat,
    ListedImage,
    ShapeList,
    head_of,
    read_json,
)
from holdfast.data.formats.outlines import Corners, around, ellipse
from holdfast.data.records import Box
from holdfast.errors import UnreadableAnnotation

#: Of several attributes of a region the one that names the class.
_CLASS_NAMES = (
    "class",
    "label",
    "category",
    "type",
    "name",
    "object",
    "object_name",
    "class_name",
    "species",
)
_NUMBERS = {
    "rect": ("x", "y", "width", "height"),
    "circle": ("cx", "cy", "r", "r"),
    "ellipse": ("cx", "cy", "rx", "ry"),
}
_KINDS_OF_VERSION_3 = {
    1: "point",
    2: "rect",
    3: "circle",
    4: "ellipse",
    5: "polyline",
    6: "polyline",
    7: "polygon",
}


def looks_like_via(path: str) -> bool:
    head = head_of(path)
    if b'"_via_img_metadata"' in head or b'"shape_attributes"' in head:
        return True
    if b'"filename"' in head and b'"regions"' in head and b'"size"' in head:
        return True
    return b'"data_format_version"' in head and b'"pid"' in head


def read_file(listing: FileIndex, name: str) -> ListedFile:
    path = listing.path(name)
    document = read_json(path)
    images, problems = _read(document, path, None)
    if not any(image.boxes for image in images):
        images, problems = _read(document, path, "object")
        if any(image.boxes for image in images):
            problems.add(
                "class-column-unknown", "no region has an attribute, so every box is called 'object'"
            )
    return ListedFile(name, images, problems.problems())


FORMAT = ListedFormat("via", ".json", looks_like_via, read_file)


def _read(document: Any, path: str, otherwise: str | None) -> tuple[tuple[ListedImage, ...], ProblemList]:
    """The images; `otherwise` is the class of a region without an attribute; without it such a region is an error."""
    problems = ProblemList(path)
    if isinstance(document, dict) and isinstance(document.get("metadata"), dict) and "view" in document:
        return tuple(_version_3(document, otherwise, problems)), problems
    inner = document.get("_via_img_metadata", document) if isinstance(document, dict) else document
    listed = list(inner.values()) if isinstance(inner, dict) else inner
    if not isinstance(listed, list) or not all(isinstance(one, dict) and "filename" in one for one in listed):
        raise UnreadableAnnotation(
            "this is not the VGG Image Annotator's JSON: it lists no images with a filename", where=path
        )
    return tuple(_image(one, otherwise, problems) for one in listed), problems


def _image(element: dict[str, Any], otherwise: str | None, problems: ProblemList) -> ListedImage:
    name = str(element["filename"])
    shapes = ShapeList(name, problems)
    regions = element.get("regions") or []
    listed = list(regions.values()) if isinstance(regions, dict) else regions
    if not isinstance(listed, list):
        shapes.lose(f"its regions are {str(listed)[:60]!r}, which is no list")
    for region in listed if isinstance(listed, list) else []:
        shape = region.get("shape_attributes") if isinstance(region, dict) else None
        if not isinstance(shape, dict):
            shapes.lose("a region has no shape_attributes")
            continue
        _add(str(shape.get("name")), _corners(shape), region.get("region_attributes"), otherwise, shapes)
    return ListedImage((name,), tuple(shapes.boxes), lost=shapes.lost)


def _add(
    kind: str, corners: Corners | None, attributes: Any, otherwise: str | None, shapes: ShapeList
) -> None:
    if kind == "point":
        shapes.no_box("a region is a point, which is no box")
    elif corners is None:
        shapes.lose(f"a region of kind {kind!r} has no box")
    else:
        labels = _classes_of(attributes if isinstance(attributes, dict) else {})
        if not labels and otherwise is None:
            shapes.lose("a region has no class")
        for label in labels or filter(None, [otherwise]):
            shapes.add(Box(*corners, label))


def _classes_of(attributes: dict[str, Any]) -> list[str]:
    """The class of a region; several where several boxes of a list are ticked, none without any attribute."""
    by_name = {name.strip().lower().replace(" ", "_"): value for name, value in attributes.items()}
    preferred = [by_name[name] for name in _CLASS_NAMES if name in by_name]
    for value in (*preferred, *attributes.values()):
        if isinstance(value, dict):
            ticked = [str(name) for name, on in value.items() if on]
            if ticked:
                return ticked
        elif isinstance(value, str | int) and str(value).strip():
            return [str(value).strip()]
    return []


def _corners(shape: dict[str, Any]) -> Corners | None:
    kind = shape.get("name")
    if kind in ("polygon", "polyline"):
        xs, ys = shape.get("all_points_x"), shape.get("all_points_y")
        if not isinstance(xs, list) or not isinstance(ys, list) or len(xs) != len(ys):
            return None
        points = [(x, y) for a, b in zip(xs, ys, strict=True) if (x := parse_number(a)) is not None
                  and (y := parse_number(b)) is not None]  # fmt: skip
        return around(points) if len(points) == len(xs) else None
    keys = _NUMBERS.get(str(kind), ())
    known = [value for value in (parse_number(shape.get(key)) for key in keys) if value is not None]
    if len(known) != 4:
        return None
    a, b, c, d = known
    return (
        (a, b, a + c, b + d)
        if kind == "rect"
        else ellipse(a, b, c, d, parse_number(shape.get("theta")) or 0.0)
    )


# -- version 3 ----------------------------------------------------------------------------------


def _version_3(
    document: dict[str, Any], otherwise: str | None, problems: ProblemList
) -> Iterator[ListedImage]:
    files, views = _table(document, "file"), _table(document, "view")
    options = {
        key: (str(one.get("aname", "")), one.get("options") if isinstance(one.get("options"), dict) else {})
        for key, one in _table(document, "attribute").items()
    }
    by_view: dict[str, ShapeList] = {}
    names: dict[str, str] = {}
    for view, element in views.items():
        listed = element.get("fid_list") or [view]
        file = files.get(str(listed[0]), {})
        names[view] = str(file.get("fname") or file.get("src") or view)
        by_view[view] = ShapeList(names[view], problems)
    for region in _table(document, "metadata").values():
        shapes, numbers = by_view.get(str(region.get("vid"))), region.get("xy")
        if shapes is None or not isinstance(numbers, list) or not numbers:
            continue  # of a whole file, or of a moment in a video
        kind = _KINDS_OF_VERSION_3.get(numbers[0], str(numbers[0]))
        attributes = _attributes(region.get("av"), options)
        _add(kind, _corners(_as_shape(kind, numbers[1:])), attributes, otherwise, shapes)
    for view, shapes in by_view.items():
        yield ListedImage((names[view],), tuple(shapes.boxes), lost=shapes.lost)


def _table(document: dict[str, Any], key: str) -> dict[str, dict[str, Any]]:
    found = document.get(key)
    listed = found.items() if isinstance(found, dict) else ()
    return {str(name): one for name, one in listed if isinstance(one, dict)}


def _as_shape(kind: str, numbers: list[Any]) -> dict[str, Any]:
    if kind in ("polygon", "polyline"):
        return {"name": kind, "all_points_x": numbers[0::2], "all_points_y": numbers[1::2]}
    return {"name": kind, **dict(zip(dict.fromkeys(_NUMBERS.get(kind, ())), numbers, strict=False))}


def _attributes(values: Any, options: dict[str, tuple[str, Any]]) -> dict[str, Any]:
    """`{"1": "0"}` with the names that the project gives to attribute 1 and to its option 0."""
    given = values if isinstance(values, dict) else {}
    return {
        options.get(key, (key, {}))[0] or key: options.get(key, ("", {}))[1].get(value, value)
        if isinstance(value, str)
        else value
        for key, value in given.items()
    }
