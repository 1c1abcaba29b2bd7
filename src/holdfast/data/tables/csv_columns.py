"""Which column of a CSV holds what, for the headers that people use."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, replace

from holdfast.data.files.file_index import is_image
from holdfast.data.files.parse_numbers import parse_number
from holdfast.data.tables.csv_lists import corners_of, is_list, parsed

Corners = tuple[float, float, float, float]

_FILE = ("filename", "file_name", "image", "image_name", "image_path", "image_id", "imageid", "img", "img_name",
         "img_path", "file", "filepath", "file_path", "path", "name_of_image", "picture", "frame",
         "image_file", "image_filename", "imagename", "imgname", "img_id", "fname", "photo", "patientid",
         "patient_id", "image_url", "img_url", "image_uri", "gcs_uri", "uri", "url")  # fmt: skip
_LABEL = ("class", "label", "class_name", "classname", "labelname", "label_name", "category", "category_name",
          "cell_type", "object", "object_name", "name", "type", "species", "cls", "class_label", "label_text",
          "label_class", "target", "tag", "class_id", "classid", "label_id", "category_id", "cls_id",
          "classes", "labels", "categories", "class_names", "annotation_tag", "digitlabel", "digit_label",
          "obj_class")  # fmt: skip
_X1 = ("xmin", "x_min", "min_x", "x1", "left", "bbox_xmin", "x_1", "bbox_x1", "box_x1", "roi.x1", "xtl",
       "upper_left_corner_x", "x0")  # fmt: skip
_Y1 = ("ymin", "y_min", "min_y", "y1", "top", "bbox_ymin", "y_1", "bbox_y1", "box_y1", "roi.y1", "ytl",
       "upper_left_corner_y", "y0")  # fmt: skip
_X2 = ("xmax", "x_max", "max_x", "x2", "right", "bbox_xmax", "x_2", "bbox_x2", "box_x2", "roi.x2", "xbr",
       "lower_right_corner_x")  # fmt: skip
_Y2 = ("ymax", "y_max", "max_y", "y2", "bottom", "bbox_ymax", "y_2", "bbox_y2", "box_y2", "roi.y2", "ybr",
       "lower_right_corner_y")  # fmt: skip
_FROM_ZERO = (("x0",), ("y0",), ("x1",), ("y1",))
_X = ("x", "bbox_x", "bbox_left", "left", "xmin", "x_min", "x1")
_Y = ("y", "bbox_y", "bbox_top", "top", "ymin", "y_min", "y1")
_W = ("w", "bbox_width", "bbox_w", "box_width", "width")
_H = ("h", "bbox_height", "bbox_h", "box_height", "height")
_IMAGE_W = ("original_width", "image_width", "width", "img_width", "imagewidth", "im_width")
_IMAGE_H = ("original_height", "image_height", "height", "img_height", "imageheight", "im_height")
_CENTRE_X = ("x_center", "center_x", "xcenter", "x_centre", "centre_x", "cx", "xc", "bbox_x_center")
_CENTRE_Y = ("y_center", "center_y", "ycenter", "y_centre", "centre_y", "cy", "yc", "bbox_y_center")
_NOTHING = ("", "nan", "none", "null", "na", "no_box")
_SPLIT = ("split", "set", "subset", "purpose", "ml_use")
_ONE_FIELD = ("bbox", "box", "bounding_box", "boundingbox", "region_shape_attributes", "bboxes", "boxes",
              "bounding_boxes", "boxesstring", "boxes_string", "annotations", "annotation", "objects",
              "targets")  # fmt: skip
_PERCENT = re.compile(r"_?\(?(%|percent|pct)\)?$")
_NEVER_CLASSES = re.compile(
    r"(^|_)(source|url|licen[cs]e|author|annotator|dates?|time|timestamp|comments?|notes?|path|folder|hash|usage)$|id$"
)
_CROWD = ("isgroupof", "iscrowd", "is_crowd", "crowd")

_OPEN_IMAGES = {"imageid", "labelname", "xmin", "xmax", "ymin", "ymax"}


class NotABox(str):
    """Why a region has no box by its nature: a point is none."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class CsvColumns:
    """Positions of the columns; a box is four corners, a corner and a size, one field, or a VIA region."""

    file: int
    label: int | None
    box: tuple[int, ...]  # four columns, or one that holds all four numbers
    corner_pairs: bool = True  # x1 y1 x2 y2; otherwise x y width height
    width: int | None = None
    height: int | None = None
    split: int | None = None
    crowd: int | None = None
    has_header: bool = True
    odd_order: str = ""
    centred: bool = False  # x and y are the box's centre
    decimal_commas: bool = False  # 12,5 is a number: fields are not separated by commas
    percent: bool = False  # numbers are hundredths of the image
    named: str = ""  # the header's word for a single column of boxes
    header: tuple[str, ...] = ()  # as it is written
    unread: tuple[int, ...] = ()  # columns that no word is known for
    spaced: bool = False  # a space follows every separator, and belongs to none of the fields

    def text(self, row: list[str], column: int | None) -> str:
        return row[column] if column is not None and column < len(row) else ""

    def class_name(self, row: list[str]) -> str:
        """The class of a row; "object" in a table without classes."""
        if self.label is None:
            return "object"
        text = unquoted(self.text(row, self.label))
        if not text.startswith("{"):
            return text.strip() if self.spaced else text
        try:
            attributes = json.loads(text)  # of the VGG Image Annotator
        except (ValueError, RecursionError):
            return text
        values = [_chosen(value) for value in attributes.values()] if isinstance(attributes, dict) else []
        return next(filter(None, values), "")

    def _names_nothing(self, row: list[str]) -> bool:
        return self.label is None or self.text(row, self.label).strip().lower() in _NOTHING

    def corners(self, row: list[str]) -> Corners | str | None:
        """The box of a row; None where the row has none, a sentence where it cannot be read."""
        fields = [self.text(row, column).strip() for column in self.box]
        if not any(fields):
            return None if self._names_nothing(row) else NotABox("a class is named, and no box")
        if all(field.lower() in _NOTHING for field in fields) and self._names_nothing(row):
            return None  # a negative, as pandas writes it
        if len(fields) == 1:
            return _one_field(fields[0])
        values = [
            parse_number(_with_point(field.rstrip("%"), commas=self.decimal_commas)) for field in fields
        ]
        known = [value for value in values if value is not None]
        if len(known) < 4:
            return f"the box is {', '.join(fields)[:60]!r}, not four numbers"
        a, b, c, d = known
        if self.centred:
            return a - c / 2, b - d / 2, a + c / 2, b + d / 2
        return (a, b, c, d) if self.corner_pairs else (a, b, a + c, b + d)


def _with_point(text: str, *, commas: bool) -> str:
    """A spreadsheet's `0,25` in a field of its own; a field of several numbers is none of these."""
    return text.replace(",", ".") if commas or re.fullmatch(r"[+-]?\d*,\d+", text) else text


def unquoted(text: str) -> str:
    """Without single quotes around it, which the csv module takes for part of the text."""
    stripped = text.strip()
    return stripped[1:-1] if len(stripped) > 2 and stripped[0] == stripped[-1] == "'" else text


def _chosen(value: object) -> str:
    """A region's attribute: a text, or the ticked ones of several boxes, `{"cat": true}`."""
    if isinstance(value, dict):
        return ",".join(str(name) for name, ticked in value.items() if ticked)
    return value if isinstance(value, str) else ""


def _one_field(text: str) -> Corners | str | None:
    if text.startswith("{"):
        return _via_region(text)
    values = [parse_number(part) for part in re.split(r"[\s,;]+", text.strip("[]() "))]
    known = [value for value in values if value is not None]
    if len(known) != 4 or len(values) != 4:
        return f"the box is {text[:60]!r}, not four numbers"
    x, y, w, h = known
    return x, y, x + w, y + h


def _via_region(text: str) -> Corners | str | None:
    """A region of the VGG Image Annotator: rect, circle, ellipse or polygon; or a box as `{"x": …, "y": …}`."""
    region = parsed(text)
    if region is None:
        return f"the region is not JSON: {text[:60]!r}"
    if not region:
        return None
    if isinstance(region, dict) and "name" not in region:
        return corners_of(region) or f"the box is {text[:60]!r}, not four numbers"
    kind = str(region.get("name")) if isinstance(region, dict) else "?"
    if isinstance(region, dict) and kind in ("polygon", "polyline"):
        xs, ys = region.get("all_points_x"), region.get("all_points_y")
        points = [parse_number(value) for side in (xs, ys) if isinstance(side, list) for value in side]
        known = [value for value in points if value is not None]
        half = len(known) // 2
        if half >= 2 and len(known) == len(points) == 2 * half:
            return min(known[:half]), min(known[half:]), max(known[:half]), max(known[half:])
        return f"the {kind} has no points"
    if kind == "point":
        return NotABox("a point, which is no box")
    keys = {
        "rect": ("x", "y", "width", "height"),
        "circle": ("cx", "cy", "r", "r"),
        "ellipse": ("cx", "cy", "rx", "ry"),
    }
    read = [parse_number(region.get(key)) for key in keys.get(kind, ())]
    numbers = [value for value in read if value is not None]
    if len(numbers) != 4:
        return f"a region of kind {kind!r} has no box"
    a, b, c, d = numbers
    return (a, b, a + c, b + d) if kind == "rect" else (a - c, b - d, a + c, b + d)


def from_header(header: list[str]) -> CsvColumns | None:
    """The columns by their names, in any order and case; None when the first row is no such header."""
    given = [re.sub(r"[\s\-]+", "_", name.strip().lower().lstrip("#").strip()) for name in header]
    names = [_PERCENT.sub("", name) for name in given]

    def first(wanted: tuple[str, ...]) -> int | None:
        return next((names.index(name) for name in wanted if name in names), None)

    file = first(_FILE)
    if file is None:
        return None
    label = first(
        tuple(name for name in (*_LABEL, "region_attributes") if name in names[:file] + names[file + 1 :])
    )
    columns = CsvColumns(
        file,
        label,
        (),
        width=first(_IMAGE_W),
        height=first(_IMAGE_H),
        split=first(_SPLIT),
        crowd=first(_CROWD),
        # Label Studio's words for the image's size, and its numbers are always in percent.
        percent=names != given or "original_width" in names,
    )
    found = _with_box(columns, header, first)
    return None if found is None else replace(found, unread=_unread(found, names), header=tuple(header))


def _unread(columns: CsvColumns, names: list[str]) -> tuple[int, ...]:
    """Columns that might have been the classes, of a table where none is called so."""
    single = (columns.file, columns.width, columns.height, columns.split, columns.crowd, *columns.box)
    return (
        ()
        if columns.label is not None
        else tuple(
            place
            for place, name in enumerate(names)
            if name and place not in single and not _NEVER_CLASSES.search(name)
        )
    )


def _with_box(
    columns: CsvColumns, header: list[str], first: Callable[[tuple[str, ...]], int | None]
) -> CsvColumns | None:
    for groups in ((_X1, _Y1, _X2, _Y2), _FROM_ZERO):
        corners = [column for group in groups if (column := first(group)) is not None]
        if len(corners) == 4:
            break
    if len(corners) == 4:
        odd = (
            ""
            if corners == sorted(corners)
            else ", ".join(header[column].strip() for column in sorted(corners))
        )
        return replace(columns, box=tuple(corners), odd_order=odd)
    centred = [column for group in (_CENTRE_X, _CENTRE_Y, _W, _H) if (column := first(group)) is not None]
    if len(centred) == 4:
        of_box = columns.width in centred
        columns = replace(columns, width=None, height=None) if of_box else columns
        return replace(columns, box=tuple(centred), corner_pairs=False, centred=True)
    sized = [column for group in (_X, _Y, _W, _H) if (column := first(group)) is not None]
    if len(sized) == 4:
        columns = replace(columns, width=None if columns.width in sized else columns.width)
        columns = replace(columns, height=None if columns.height in sized else columns.height)
        return replace(columns, box=tuple(sized), corner_pairs=False)
    single = first(_ONE_FIELD)
    if single is None:
        return None
    return replace(columns, box=(single,), corner_pairs=False, named=header[single].strip().lower())


def is_open_images(columns: CsvColumns) -> bool:
    """The header of Open Images' tables, which are read apart: most of their images are not in the folder."""
    return {name.strip().lower() for name in columns.header} >= _OPEN_IMAGES


def holds_boxes(columns: CsvColumns, rows: list[list[str]]) -> bool:
    """Words that other tables use too count only where the column below them holds boxes."""
    if columns.named in ("", "bbox", "box", "bounding_box", "region_shape_attributes"):
        return True
    return any(
        is_list(field := columns.text(row, columns.box[0])) or type(_one_field(field)) is tuple
        for row in rows
    )


def headerless(rows: list[list[str]]) -> CsvColumns | None:
    """keras-retinanet's `path,x1,y1,x2,y2,class`, or AutoML's `SET,path,label,x1,y1,,,x2,y2,,`."""
    if all(len(row) == 6 and _numbers_or_nothing(row[1:5]) for row in rows if row):
        return CsvColumns(0, 5, (1, 2, 3, 4), has_header=False)
    if all(len(row) == 11 and _numbers_or_nothing([*row[3:5], *row[7:9]]) for row in rows if row):
        return CsvColumns(1, 2, (3, 4, 7, 8), split=0, has_header=False)
    return _by_content(rows)


def _by_content(rows: list[list[str]]) -> CsvColumns | None:
    """One column of images, four of numbers, at most one of text: then nothing else can be meant."""
    width = len(rows[0])
    if any(row and len(row) != width for row in rows):
        return None
    fields = [[row[column].strip() for row in rows if row] for column in range(width)]
    images = [column for column in range(width) if all(is_image(field) for field in fields[column])]
    numbers = [
        column for column in range(width) if all(parse_number(field) is not None for field in fields[column])
    ]
    rest = [column for column in range(width) if column not in (*images, *numbers)]
    if len(images) != 1 or len(numbers) != 4 or len(rest) > 1:
        return None
    return CsvColumns(images[0], rest[0] if rest else None, tuple(numbers), has_header=False)


def _numbers_or_nothing(fields: list[str]) -> bool:
    blank = [not field.strip() for field in fields]
    return all(blank) or (not any(blank) and all(parse_number(field.strip()) is not None for field in fields))
