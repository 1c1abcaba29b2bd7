"""Reading the two files that `holdfast eval` compares, and saying what is wrong with them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from holdfast import regular_file
from holdfast.data.files.parse_numbers import parse_flag
from holdfast.errors import DataError, NotAFile, PathMissing
from holdfast.evaluate.box_columns import Bools, Floats, GroundTruth, Ints, Predictions

LARGEST_FILE_BYTES = 2 << 30
_GROUND_TRUTH_SHAPE = 'a COCO file is an object with "images", "categories" and "annotations"'
_PREDICTIONS_SHAPE = (
    'detections are a list of {"image_id": …, "category_id": …, "bbox": [x, y, w, h], "score": …}'
)


class UnreadableEvaluation(DataError):
    """A file given to `holdfast eval` is not what it should be."""

    slug = "unreadable-evaluation-file"


class UnknownInDetections(DataError):
    """Detections name images or categories that the ground truth does not have."""

    slug = "unknown-in-detections"


def read_ground_truth(path: Path) -> GroundTruth:
    content = _read_json(path, "ground truth")
    if not isinstance(content, dict) or not isinstance(content.get("images"), list):
        raise _wrong(path, _shape_of(content), _GROUND_TRUTH_SHAPE)
    annotations = content.get("annotations", [])
    categories = content.get("categories")
    if not isinstance(annotations, list) or not isinstance(categories, list):
        raise _wrong(path, _shape_of(content), _GROUND_TRUTH_SHAPE)
    # Sorted as COCO's own code sorts them: detections of equal score count in the order of their images.
    images = tuple(
        sorted(
            (_key(path, "images", row, "id") for row in _objects(path, "images", content["images"])),
            key=_by_id,
        )
    )
    named = sorted(
        (
            (_key(path, "categories", row, "id"), str(row.get("name", row.get("id"))))
            for row in _objects(path, "categories", categories)
        ),
        key=lambda pair: _by_id(pair[0]),
    )
    _refuse_twice(path, "images", images)
    _refuse_twice(path, "categories", [identity for identity, _ in named])
    rows = _objects(path, "annotations", annotations)
    image, category = _places(
        path, "annotations", rows, images, [identity for identity, _ in named], _wrong_ground_truth
    )
    boxes = _boxes(path, "annotations", rows)
    # "difficult" is our converter's word, from VOC: neither found nor missed, as when the dataset itself is read.
    crowd: Bools = np.array(
        [bool(row.get("iscrowd", 0)) or parse_flag(row.get("difficult")) for row in rows], dtype=bool
    )
    area = [row.get("area") if _is_number(row.get("area")) else None for row in rows]
    areas: Floats = np.array(
        [box[2] * box[3] if known is None else known for box, known in zip(boxes, area, strict=True)],
        dtype=float,
    )
    return GroundTruth(images, tuple(named), image, category, boxes, crowd, areas)


def read_predictions(path: Path, truth: GroundTruth) -> Predictions:
    content = _read_json(path, "detections")
    if isinstance(content, dict) and isinstance(content.get("annotations"), list):
        content = content["annotations"]
    if not isinstance(content, list):
        raise _wrong(path, _shape_of(content), _PREDICTIONS_SHAPE)
    rows = _objects(path, "", content)
    for index, row in enumerate(rows):
        if not _is_number(row.get("score")):
            raise _wrong(path, f"entry {index} has the score {row.get('score')!r}", _PREDICTIONS_SHAPE)
    known = [identity for identity, _ in truth.categories]
    image, category = _places(path, "", rows, truth.images, known, _unknown)
    score: Floats = np.array([row["score"] for row in rows], dtype=float)
    return Predictions(image, category, _boxes(path, "", rows), score)


def _read_json(path: Path, role: str) -> Any:
    if not path.exists():
        raise PathMissing(
            f"the {role} file does not exist", where=path, change="give the path of a JSON file"
        )
    if path.is_dir():
        raise NotAFile(f"the {role} is a folder", where=path, change="give the path of a JSON file")
    try:
        with path.open("rb") as file:  # a pipe of the shell, `<(…)`, too
            data = file.read(LARGEST_FILE_BYTES + 1)
        if len(data) > LARGEST_FILE_BYTES:
            raise ValueError(f"it is larger than {LARGEST_FILE_BYTES >> 30} GiB")
        return regular_file.parse_json(data)
    except ValueError as error:
        raise UnreadableEvaluation(
            f"the {role} file is not JSON", where=path, found=str(error), change="write the file again"
        ) from error


def _objects(path: Path, part: str, rows: list[Any]) -> list[dict[str, Any]]:
    for index, row in enumerate(rows):
        if not isinstance(row, dict):
            place = f"{part}[{index}]" if part else f"entry {index}"
            raise _wrong(
                path, f"{place} is {_shape_of(row)}", _GROUND_TRUTH_SHAPE if part else _PREDICTIONS_SHAPE
            )
    return rows


def _by_id(identity: int | str) -> tuple[bool, int | str]:
    return isinstance(identity, str), identity


def _key(path: Path, part: str, row: dict[str, Any], field: str) -> int | str:
    value = row.get(field)
    if isinstance(value, bool) or not isinstance(value, int | str):
        raise _wrong(
            path, f"an entry of {part} has the {field} {value!r}", "an id is a whole number or a text"
        )
    return value


def _refuse_twice(path: Path, part: str, ids: Sequence[int | str]) -> None:
    seen: set[int | str] = set()
    twice = [identity for identity in ids if identity in seen or seen.add(identity)]  # type: ignore[func-returns-value]
    if twice:
        raise _wrong(path, f"{len(twice)} ids of {part} occur twice: {_some(twice)}", "an id names one thing")


def _places(
    path: Path,
    part: str,
    rows: list[dict[str, Any]],
    images: Sequence[int | str],
    categories: Sequence[int | str],
    complain: Callable[[Path, str, list[Any], Sequence[Any]], DataError],
) -> tuple[Ints, Ints]:
    columns = []
    for field, known in (("image_id", images), ("category_id", categories)):
        place = {identity: index for index, identity in enumerate(known)}
        values = [_key(path, part or "the detections", row, field) for row in rows]
        unknown = list(dict.fromkeys(value for value in values if value not in place))
        if unknown:
            raise complain(path, field, unknown, known)
        columns.append(np.array([place[value] for value in values], dtype=np.int64))
    return columns[0], columns[1]


def _boxes(path: Path, part: str, rows: list[dict[str, Any]]) -> Floats:
    for index, row in enumerate(rows):
        box = row.get("bbox")
        good = isinstance(box, list) and len(box) == 4 and all(_is_number(value) for value in box)
        if not good or box[2] < 0 or box[3] < 0:  # type: ignore[index]
            place = f"{part}[{index}]" if part else f"entry {index}"
            raise _wrong(
                path,
                f"{place} has the bbox {box!r}",
                "a bbox is [x, y, width, height] in pixels, finite, no side below 0",
            )
    boxes: Floats = np.array([row["bbox"] for row in rows], dtype=float).reshape(-1, 4)
    return boxes


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and bool(np.isfinite(value))


def _wrong(path: Path, found: str, change: str) -> UnreadableEvaluation:
    return UnreadableEvaluation(
        "the file has not the form that evaluation reads", where=path, found=found, change=change
    )


def _wrong_ground_truth(path: Path, field: str, unknown: list[Any], known: Sequence[Any]) -> DataError:
    return _wrong(path, f"annotations name {_count(field, unknown)} that the file does not list: {_some(unknown)}",
                  "every image and category that an annotation names must be listed")  # fmt: skip


def _unknown(path: Path, field: str, unknown: list[Any], known: Sequence[Any]) -> DataError:
    change = "evaluate against the ground truth that these detections were made for"
    if unknown and known and isinstance(unknown[0], str) != isinstance(known[0], str):
        change = f"write {field} as the ground truth does: {known[0]!r}, not {unknown[0]!r}"
    return UnknownInDetections(
        f"the detections name {_count(field, unknown)} that the ground truth does not have",
        where=path,
        found=[f"unknown: {_some(unknown)}", f"known: {_some(known)}"],
        change=change,
    )


def _count(field: str, unknown: list[Any]) -> str:
    one, many = {"image_id": ("an image", "images"), "category_id": ("a category", "categories")}[field]
    return one if len(unknown) == 1 else f"{len(unknown)} {many}"


def _some(values: Sequence[Any], most: int = 5) -> str:
    shown = ", ".join(repr(value) for value in values[:most])
    return shown + (f" and {len(values) - most} more" if len(values) > most else "")


def _shape_of(content: Any) -> str:
    if isinstance(content, dict):
        return "an object with the keys " + (_some(sorted(map(str, content))) or "none")
    if isinstance(content, list):
        return f"a list of {len(content)}"
    return f"the {type(content).__name__} {str(content)[:40]!r}"
