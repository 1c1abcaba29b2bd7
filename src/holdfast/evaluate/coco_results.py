"""Detections as COCO's results file, with the numbers that `holdfast data convert --to coco` gives the same data."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from holdfast import atomic_write
from holdfast.data.records import Dataset, Record
from holdfast.data.writing.output_names import class_numbers, image_numbers
from holdfast.evaluate.model_detections import ImagePredictions


def coco_results(
    source: Dataset, records: Sequence[Record], seen: Sequence[ImagePredictions], classes: Sequence[str]
) -> list[dict[str, Any]]:
    """One object a detection. `records` are some or all of the source's; `classes` are the model's, which may be
    more than the source has."""
    known = class_numbers(source, first=0)
    fresh = iter(range(max(known.values(), default=-1) + 1, 10**9))
    numbers = [known[name] if name in known else next(fresh) for name in classes]
    rows = []
    for image, one in zip(_numbers_in(source, records), seen, strict=True):
        for (x1, y1, x2, y2), score, label in zip(one.boxes, one.scores, one.classes, strict=True):
            sides = [float(x1), float(y1), float(x2 - x1), float(y2 - y1)]
            row = {
                "image_id": image,
                "category_id": numbers[int(label)],
                "bbox": sides,
                "score": float(score),
            }
            rows.append(row)
    return rows


def _numbers_in(source: Dataset, records: Sequence[Record]) -> list[int]:
    """The converter numbers each split by itself; images of several are numbered together, as a file holds them."""
    splits = {record.split for record in records}
    among = [record for record in source.records if record.split in splits]
    number = {
        id(record): given
        for record, given in zip(among, image_numbers(record.id for record in among), strict=True)
    }
    return [number[id(record)] for record in records]


def write(rows: list[dict[str, Any]], path: Path) -> None:
    atomic_write.write_text(path, json.dumps(rows))
