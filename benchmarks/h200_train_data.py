"""The data of benchmarks/h200_train.py: real JPEGs, repeated.

Every second photograph is turned by a right angle, so that torchvision's batches have photographs of both shapes, as
a dataset of the world has, and are padded to a square like ours.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from PIL import Image


def prepare(source: str, folder: Path, *, repeats: int) -> dict[str, Path]:
    """COCO folders `train` (the splits train and val, repeated) and `test`, of a dataset with these splits."""
    from holdfast.data.reading.load import read

    dataset = read(source)
    made = {}
    for part, splits, times in (("train", ("train", "val"), repeats), ("test", ("test",), 1)):
        records = [record for record in dataset.records if record.split in splits]
        made[part] = _write(folder / part, records, dataset.classes, times)
    return made


def _write(folder: Path, records: Iterable[Any], classes: tuple[str, ...], times: int) -> Path:
    folder.mkdir(parents=True)
    images: list[dict[str, Any]] = []
    annotations: list[dict[str, Any]] = []
    for number, record in enumerate(records):
        turned = number % 2 == 1
        image = Image.open(record.image.path).convert("RGB")
        width = image.width
        image = image.transpose(Image.Transpose.ROTATE_90) if turned else image
        first = folder / f"{number:05d}-0.jpg"
        image.save(first, quality=92)
        for copy in range(times):
            name = f"{number:05d}-{copy}.jpg"
            if copy:
                (folder / name).write_bytes(first.read_bytes())
            images.append(
                {"id": len(images) + 1, "file_name": name, "width": image.width, "height": image.height}
            )
            for box in record.boxes:
                left, top, right, bottom = _turned(box, width) if turned else box.corners
                if right - left < 1 or bottom - top < 1:
                    continue
                annotations.append({
                    "id": len(annotations) + 1, "image_id": len(images), "iscrowd": 0,
                    "category_id": classes.index(box.name) + 1, "area": (right - left) * (bottom - top),
                    "bbox": [left, top, right - left, bottom - top],
                })  # fmt: skip
    categories = [{"id": index + 1, "name": name} for index, name in enumerate(classes)]
    (folder / "annotations.json").write_text(
        json.dumps({"images": images, "annotations": annotations, "categories": categories})
    )
    return folder


def _turned(box: Any, width: int) -> tuple[float, float, float, float]:
    """After a turn to the left: x becomes y, and y is counted from the right edge."""
    left, top, right, bottom = box.corners
    return top, width - right, bottom, width - left
