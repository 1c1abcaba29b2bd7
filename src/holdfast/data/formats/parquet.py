"""Parquet as on the Hugging Face Hub: a row an image, its bytes in `image`, its boxes in `objects`.

Class names come from the schema that `datasets` stores. Whether four numbers are a corner and a size (COCO) or two
corners is written nowhere; the images tell.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from holdfast.data.dataset_reader import ProblemList
from holdfast.data.files.file_index import FileIndex
from holdfast.data.files.parquet_rows import bounded_batches, open_table, place_of
from holdfast.data.files.parse_numbers import parse_flag, parse_number, parse_size
from holdfast.data.formats.listed import ListedFile, ListedImage, ListedSource, ShapeList, open_listed
from holdfast.data.images.image_file import upright_size
from holdfast.data.records import Box, ImageRef
from holdfast.data.tables.csv_lists import hold_corners
from holdfast.errors import UnreadableAnnotation
from holdfast.regular_file import parse_json

_IMAGE = ("image", "img", "picture", "pixel_values", "jpg", "png")
_OBJECTS = ("objects", "annotations", "object", "labels", "faces", "instances", "targets")
_BOXES = ("bbox", "bboxes", "boxes", "box", "bounding_box", "bounding_boxes")
_CLASSES = ("category", "categories", "label", "labels", "category_id", "class", "classes", "class_label",
            "category_name", "name", "class_id", "type")  # fmt: skip
_CORNER_KEYS = (
    ("xmin", "ymin", "xmax", "ymax"),
    ("x1", "y1", "x2", "y2"),
    ("x_min", "y_min", "x_max", "y_max"),
)
IMAGES_TO_JUDGE = 100
_LONGEST_NAME = 4000
_Numbers = tuple[float, float, float, float]


@dataclass(frozen=True, slots=True)
class _Columns:
    image: str
    objects: str  # empty where boxes and classes are columns of their own
    boxes: str  # empty where an object has four numbers of its own
    classes: str
    names: tuple[str, ...]  # of ClassLabel


def open_folder(listing: FileIndex) -> ListedSource | None:
    names = listing.with_suffix(".parquet")
    return open_source(listing, names, listing.root) if names else None


def open_source(listing: FileIndex, names: Sequence[str], path: str) -> ListedSource | None:
    return open_listed("parquet", listing, names, read_file, path)


def read_file(listing: FileIndex, name: str) -> ListedFile:
    path = listing.path(name)
    table = open_table(path)
    columns = _columns(table.schema_arrow, path)
    problems = ProblemList(path)
    raw = list(_rows(table, columns, path, problems))
    corners, fractions = _meaning([(image, numbers) for image, numbers, _ in raw])
    images = tuple(_image(image, numbers, marks, corners, fractions) for image, numbers, marks in raw)
    ids = {label: number for number, label in enumerate(columns.names)}
    return ListedFile(name, images, problems.problems(), ids)


def _columns(schema: Any, path: str) -> _Columns:
    names = list(schema.names)
    image = next((name for name in _IMAGE if name in names), "")
    objects = next((name for name in _OBJECTS if name in names and _inner(schema.field(name).type)), "")
    inner = _inner(schema.field(objects).type) if objects else names
    boxes = next((name for name in _BOXES if name in inner), "")
    classes = next((name for name in _CLASSES if name in inner), "")
    corners = any(all(key in inner for key in keys) for keys in _CORNER_KEYS)
    if not image or not (boxes or corners):
        raise UnreadableAnnotation(
            "this Parquet file has no images with boxes",
            where=path,
            found=f"its columns are {', '.join(names[:12])}",
            change="name the columns image and objects, and in objects bbox and category",
        )
    return _Columns(image, objects, boxes, classes, tuple(_class_names(schema, objects, classes)))


def _inner(kind: Any) -> list[str]:
    """The fields of a struct of lists, or of a list of structs; none of anything else."""
    import pyarrow.types as types

    if types.is_list(kind) or types.is_large_list(kind):
        kind = kind.value_type
    return [kind.field(at).name for at in range(kind.num_fields)] if types.is_struct(kind) else []


def _class_names(schema: Any, objects: str, classes: str) -> list[str]:
    """ClassLabel's names, which `datasets` stores as JSON beside the schema."""
    try:
        info = parse_json((schema.metadata or {})[b"huggingface"])["info"]["features"]
        found = _under(info.get(objects, {}) if objects else info, classes)
    except (KeyError, ValueError, TypeError, AttributeError, RecursionError):
        return []
    return [str(name) for name in found]


def _under(feature: Any, key: str) -> list[Any]:
    """The names below `key`, however many lists are around it."""
    if isinstance(feature, list):
        return next(filter(None, (_under(one, key) for one in feature)), [])
    if not isinstance(feature, dict):
        return []
    if feature.get("_type") == "ClassLabel" and isinstance(feature.get("names"), list) and not key:
        return list(feature["names"])
    inside = feature[key] if key and key in feature else None
    if inside is not None:
        return _under(inside, "")
    return next(
        filter(None, (_under(one, key) for one in feature.values() if isinstance(one, dict | list))), []
    )


# -- rows ---------------------------------------------------------------------------------------

_Marks = list[tuple[str, bool]]  # class and crowd of each box


def _rows(
    table: Any, columns: _Columns, path: str, problems: ProblemList
) -> Iterator[tuple[ListedImage, list[_Numbers], _Marks]]:
    """Every row without its image's bytes, which are large and not needed here."""
    names = list(table.schema_arrow.names)
    struct = bool(_inner(table.schema_arrow.field(columns.image).type))
    others = [name for name in ("image_id", "id", "width", "height", "file_name") if name in names]
    own = [columns.objects] if columns.objects else [one for one in (columns.boxes, columns.classes) if one]
    wanted = [*others, *own, *([f"{columns.image}.path"] if struct else [])]
    row = 0
    for batch in bounded_batches(table, path, wanted):
        for values in batch.to_pylist():
            yield _row(row, values, columns, path, problems)
            row += 1


def _row(
    row: int, values: dict[str, Any], columns: _Columns, path: str, problems: ProblemList
) -> tuple[ListedImage, list[_Numbers], _Marks]:
    cell = values.get(columns.image)
    named = cell.get("path") if isinstance(cell, dict) else None
    width, height = parse_size(values.get("width")), parse_size(values.get("height"))
    own = next((str(values[key]) for key in ("image_id", "id") if values.get(key) is not None), "")[
        :_LONGEST_NAME
    ]
    name = str(named or values.get("file_name") or own or f"row-{row}")[:_LONGEST_NAME]
    shapes = ShapeList(name, problems)
    numbers: list[_Numbers] = []
    marks: _Marks = []
    for box, label, crowd in _objects(values, columns):
        four = _four(box)
        if four is None:
            shapes.lose(f"its box is {str(box)[:60]!r}, not four numbers")
        elif (found := _class_of(label, columns.names)) is None:
            shapes.lose(
                f"class {label!r} is not among the {len(columns.names)} of the schema", "unknown-class"
            )
        else:
            numbers.append(four)
            marks.append((found, crowd))
    inside = ImageRef(path, width=width, height=height, inside=place_of(row, columns.image))
    return ListedImage((name,), (), width, height, lost=shapes.lost, id=own, inside=inside), numbers, marks


def _objects(values: dict[str, Any], columns: _Columns) -> Iterator[tuple[Any, Any, bool]]:
    """Box, class and crowd of every object: from a list of structs, a struct of lists, or columns of their own."""
    held = values.get(columns.objects) if columns.objects else values
    if isinstance(held, list):
        for one in (one if isinstance(one, dict) else {} for one in held):
            yield _box_of(one, columns), one.get(columns.classes), parse_flag(one.get("iscrowd"))
    elif isinstance(held, dict):
        boxes = held.get(columns.boxes) if columns.boxes else _together(held)
        labels, crowds = held.get(columns.classes), held.get("iscrowd")
        boxes = boxes if isinstance(boxes, list) else []
        for at in range(len(boxes)):
            label = labels[at] if isinstance(labels, list) and at < len(labels) else labels
            crowd = crowds[at] if isinstance(crowds, list) and at < len(crowds) else None
            yield boxes[at], None if isinstance(label, list) else label, parse_flag(crowd)


def _together(held: dict[str, Any]) -> list[list[Any]]:
    """Four lists of numbers as one of boxes; as a corner and a size, which the other kinds are."""
    keys = next((keys for keys in _CORNER_KEYS if all(isinstance(held.get(key), list) for key in keys)), None)
    return [_from_corners(*four) for four in zip(*(held[key] for key in keys), strict=False)] if keys else []


def _from_corners(*corners: Any) -> list[Any]:
    x1, y1, x2, y2 = map(parse_number, corners)
    if x1 is None or y1 is None or x2 is None or y2 is None:
        return list(corners)[:1]  # no four numbers, and `_four` says so
    return [x1, y1, x2 - x1, y2 - y1]


def _box_of(one: dict[str, Any], columns: _Columns) -> Any:
    if columns.boxes:
        return one.get(columns.boxes)
    return next(iter(_together({key: [value] for key, value in one.items()})), None)


def _four(box: Any) -> _Numbers | None:
    values = [parse_number(value) for value in box] if isinstance(box, list) and len(box) == 4 else []
    known = [value for value in values if value is not None]
    return (known[0], known[1], known[2], known[3]) if len(known) == len(values) == 4 else None


def _class_of(label: Any, names: tuple[str, ...]) -> str | None:
    if label is None:
        return "object"
    if isinstance(label, int) and names:
        return names[label] if 0 <= label < len(names) else None
    return str(label)[:_LONGEST_NAME]


def _meaning(rows: list[tuple[ListedImage, list[_Numbers]]]) -> tuple[bool, bool]:
    """Whether the numbers are two corners, and whether they are fractions: judged by the first images."""
    fractions = _are_fractions([box for _, boxes in rows for box in boxes])
    judged = []
    for image, boxes in rows[:IMAGES_TO_JUDGE]:
        size = (1, 1) if fractions else (image.width, image.height)
        if boxes and not (size[0] and size[1]) and image.inside is not None:
            size = upright_size(image.inside) or (None, None)
        if size[0] and size[1]:
            judged += [((x, y, x + c, y + d), (size[0], size[1])) for x, y, c, d in boxes]
    return hold_corners(judged, otherwise=False), fractions


def _are_fractions(boxes: list[_Numbers]) -> bool:
    values = [value for box in boxes for value in box if value == value]
    inside = sum(-0.5 <= value <= 1.5 for value in values)
    broken = sum(value % 1 != 0 for value in values)
    return bool(values) and inside > 0.95 * len(values) and broken > 0.5 * len(values)


def _image(
    image: ListedImage, numbers: list[_Numbers], marks: _Marks, corners: bool, fractions: bool
) -> ListedImage:
    boxes = tuple(
        Box(x, y, *((c, d) if corners else (x + c, y + d)), label, crowd=crowd)
        for (x, y, c, d), (label, crowd) in zip(numbers, marks, strict=True)
    )
    return replace(image, boxes=boxes, fractions=fractions)
