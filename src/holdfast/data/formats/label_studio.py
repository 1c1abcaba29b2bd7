"""Label Studio's JSON and JSON-MIN: tasks with the results of their annotators, in percent of the image.

A task that nobody has annotated says nothing about its image, and is left out. Of several annotators' results the one
that is marked as ground truth counts, else the newest.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from holdfast.data.dataset_reader import ProblemList
from holdfast.data.files.file_index import FileIndex, is_image
from holdfast.data.files.parse_numbers import parse_number, parse_size
from holdfast.data.formats.listed import (
    ListedFile,
    ListedFormat,
    ListedImage,
    ShapeList,
    head_of,
    read_json,
)
from holdfast.data.formats.outlines import Corners, Point, around, ellipse, turned
from holdfast.data.records import Box
from holdfast.errors import UnreadableAnnotation

_LABELS = ("rectanglelabels", "polygonlabels", "ellipselabels", "brushlabels", "keypointlabels", "hypertextlabels",
           "labels")  # fmt: skip
_SHAPES = ("rectangle", "polygon", "ellipse", "brush", "keypoint", "vector")
_UPLOADED = re.compile(r"^[0-9a-f]{8}-(?=.)")  # what is put before the name of an image that is uploaded


def looks_like_label_studio(path: str) -> bool:
    head = head_of(path)
    if not head.lstrip().startswith((b"[", b"{")):
        return False
    if b'labels"' in head and (b'"original_width"' in head or b'"rectanglelabels"' in head):
        return True
    return (
        (b'"annotations"' in head or b'"completions"' in head) and b'"data"' in head and b'"result"' in head
    )


def read_file(listing: FileIndex, name: str) -> ListedFile:
    path = listing.path(name)
    document = read_json(path)
    tasks = document if isinstance(document, list) else [document]
    if not all(isinstance(task, dict) for task in tasks):
        raise UnreadableAnnotation("this is not Label Studio's JSON: it is no list of tasks", where=path)
    problems = ProblemList(path)
    return ListedFile(name, tuple(_images(tasks, problems)), problems.problems())


FORMAT = ListedFormat("label-studio", ".json", looks_like_label_studio, read_file)


def _images(tasks: list[dict[str, Any]], problems: ProblemList) -> Iterator[ListedImage]:
    for task in tasks:
        results = _results(task, problems)
        image = _image_of(task)
        if not image:
            problems.add("unreadable-annotation", f"task {task.get('id')}: it names no image")
        elif results is None:
            problems.add("task-without-annotation", f"task {task.get('id')}: {image}")
        else:
            yield _image(task, image, results, problems)


def _image_of(task: dict[str, Any]) -> str:
    """The address of the image: under `image`, or the only one that looks like an image's."""
    data = task.get("data") if isinstance(task.get("data"), dict) else task
    texts = {key: value for key, value in (data or {}).items() if isinstance(value, str)}
    likely = [texts.get(key) for key in ("image", "img", "image_url", "url", "picture", "photo")]
    others = [value for value in texts.values() if is_image(_path_of(value))]
    return next(filter(None, (*likely, *others)), "")


def _results(task: dict[str, Any], problems: ProblemList) -> list[Any] | None:
    """What one annotator drew; None where nobody has annotated the task."""
    listed = task.get("annotations", task.get("completions"))
    if not isinstance(
        listed, list
    ):  # JSON-MIN: one entry an annotation, the shapes under the name of the control
        if "annotation_id" not in task and "annotator" not in task and "label" not in task:
            return None
        return [
            one
            for value in task.values()
            if isinstance(value, list)
            for one in value
            if isinstance(one, dict)
        ]
    done = [one for one in listed if isinstance(one, dict) and not one.get("was_cancelled")]
    if not done:
        return None
    if len(done) > 1:
        problems.add(
            "several-annotators", f"task {task.get('id')} has {len(done)} annotations; one was taken"
        )
    result = max(done, key=_rank).get("result")
    return result if isinstance(result, list) else []


def _rank(annotation: dict[str, Any]) -> tuple[bool, str]:
    when = annotation.get("updated_at") or annotation.get("created_at") or ""
    return bool(annotation.get("ground_truth")), str(when)


def _image(task: dict[str, Any], address: str, results: list[Any], problems: ProblemList) -> ListedImage:
    names = _names(address)
    shapes = ShapeList(names[0], problems)
    # A shape and its label may be two results with one id.
    labels = {one.get("id"): found for one in results if isinstance(one, dict) and (found := _labels(one))}
    sizes: list[tuple[int, int]] = []
    seen: set[Any] = set()
    for result in results:
        kind = _kind(result) if isinstance(result, dict) else ""
        identity = result.get("id") if kind else None
        if not kind or (identity is not None and identity in seen):
            continue
        seen.add(identity)
        width, height = parse_size(result.get("original_width")), parse_size(result.get("original_height"))
        if width and height:
            sizes.append((width, height))
        _add(result, kind, _labels(result) or labels.get(identity, []), (width or 100, height or 100), shapes)
    width, height = sizes[0] if sizes else (None, None)
    return ListedImage(names, tuple(shapes.boxes), width, height, fractions=True, lost=shapes.lost)


def _value(result: dict[str, Any]) -> dict[str, Any]:
    """JSON-MIN has the value's keys in the result itself."""
    inner = result.get("value")
    return inner if isinstance(inner, dict) else result


def _labels(result: dict[str, Any]) -> list[str]:
    value = _value(result)
    found: list[Any] = next((value[key] for key in _LABELS if isinstance(value.get(key), list)), [])
    return [str(one) for one in found]


def _kind(result: dict[str, Any]) -> str:
    """The shape of a result: "rectangle" for rectanglelabels; empty for a choice, a text, a rating."""
    named = str(result.get("type") or next((key for key in _LABELS if key in _value(result)), ""))
    kind = named.removesuffix("labels").removesuffix("s")
    value = _value(result)
    if kind in ("", "label"):
        kind = "rectangle" if {"x", "y", "width", "height"} <= value.keys() else ""
    return kind if kind in _SHAPES else ""


def _add(
    result: dict[str, Any], kind: str, labels: list[str], size: tuple[int, int], shapes: ShapeList
) -> None:
    if kind in ("brush", "keypoint", "vector"):
        shapes.no_box(f"{', '.join(labels) or 'a shape'} is drawn as {kind!r}, which is no box")
        return
    corners = _corners(_value(result), kind, size)
    if corners is None:
        shapes.lose(f"a shape of type {result.get('type')!r} has no four numbers")
    elif not labels:
        shapes.lose(f"a {kind} has no label")
    else:
        for label in labels:
            shapes.add(Box(*corners, label))


def _corners(value: dict[str, Any], kind: str, size: tuple[int, int]) -> Corners | None:
    """As fractions. A turned rectangle turns about its first corner, in pixels."""
    width, height = size
    if kind == "polygon":
        listed = value.get("points")
        points = [_point(one) for one in listed] if isinstance(listed, list) else []
        known = [point for point in points if point is not None]
        return around(known) if len(known) == len(points) else None
    keys = ("x", "y", "radiusX", "radiusY") if kind == "ellipse" else ("x", "y", "width", "height")
    numbers = [number for number in (parse_number(value.get(key)) for key in keys) if number is not None]
    if len(numbers) != 4:
        return None
    a, b, c, d = numbers[0] * width, numbers[1] * height, numbers[2] * width, numbers[3] * height
    flat = ellipse(a, b, c, d) if kind == "ellipse" else (a, b, a + c, b + d)
    pivot = (a, b)
    x1, y1, x2, y2 = turned(flat, parse_number(value.get("rotation")) or 0.0, pivot)
    return x1 / width / 100, y1 / height / 100, x2 / width / 100, y2 / height / 100


def _point(pair: Any) -> Point | None:
    if not isinstance(pair, list) or len(pair) != 2:
        return None
    x, y = parse_number(pair[0]), parse_number(pair[1])
    return None if x is None or y is None else (x / 100, y / 100)


def _names(address: str) -> tuple[str, ...]:
    """What the file may be called: with its folders, alone, and without what an upload puts before it."""
    path = _path_of(address)
    base = path.rsplit("/", 1)[-1]
    bare = _UPLOADED.sub("", base)
    return tuple(dict.fromkeys(name for name in (path, base, bare) if name))


def _path_of(address: str) -> str:
    """The path in an address: of a local file after `?d=`, without the leading `/data/upload/`."""
    parts = urlsplit(address)
    local = parse_qs(parts.query).get("d")
    path = local[0] if local else unquote(parts.path) if parts.scheme or parts.query else address
    return re.sub(r"^/?(data/)?(upload/(\d+/)?|local-files/)", "", path)
