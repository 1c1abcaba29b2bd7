"""Mistakes with datasets, images and detections."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.errors.mistakes import Mistake, Mistakes, as_another_user, error_of, write

MISTAKES = Mistakes()

COCO = {
    "images": [{"id": 1, "file_name": "a.jpg", "width": 64, "height": 48}],
    "categories": [{"id": 1, "name": "cell"}],
    "annotations": [{"id": 1, "image_id": 1, "category_id": 1, "bbox": [4, 4, 20, 20], "area": 400, "iscrowd": 0}],
}  # fmt: skip


@MISTAKES.add("path-missing")
def data_folder_missing() -> str:
    return "check data/trian"


@MISTAKES.add("path-missing")
def data_of_the_recipe_missing() -> str:
    write({"data/train/readme.md": "", "recipe.toml": '[data]\ntrain = "data/tarin"\n'})
    return "train recipe.toml"


@MISTAKES.add("path-missing")
def no_images() -> str:
    write({"runs/a/model.npz": "", "images/readme.md": ""})
    return "predict runs/a images"


@MISTAKES.add("usage")
def file_that_is_not_an_image() -> str:
    write({"runs/a/model.npz": "", "labels.csv": "a,b\n"})
    return "predict runs/a labels.csv"


@MISTAKES.add("permission-denied")
def data_folder_not_readable() -> str:
    write({"data/annotations.json": json.dumps(COCO)})
    Path("data").chmod(0)
    as_another_user()
    return "check data"


@MISTAKES.add("file")
def unknown_storage() -> str:
    return "check nowhere://bucket/data"


@MISTAKES.add("unknown-format")
def folder_without_annotations() -> str:
    write({"notes/todo.md": "collect images\n"})
    return "check notes"


@MISTAKES.add("unknown-format")
def wrong_format() -> str:
    write({"data/annotations.json": json.dumps(COCO)})
    return "check data --format voc"


@MISTAKES.add("unreadable-annotation")
def annotations_cut_short() -> str:
    write({"annotations.json": json.dumps(COCO)[:200]})
    return "data convert annotations.json out --to voc"


@MISTAKES.add("unreadable-annotation")
def compressed_records() -> str:
    import gzip

    write({"train.tfrecord": gzip.compress(b"records")})
    return "check train.tfrecord"


@MISTAKES.add("data")
def dataset_without_boxes() -> str:
    write({"annotations.json": json.dumps({**COCO, "annotations": []})})
    return "anchors annotations.json"


@MISTAKES.add("data")
def converted_without_the_images() -> str:
    write({"annotations.json": json.dumps(COCO)})
    return "data convert annotations.json out --to voc"


@MISTAKES.add("already-there")
def converted_over_something() -> str:
    write({"annotations.json": json.dumps(COCO), "out/notes.md": ""})
    return "data convert annotations.json out --to voc --annotations-only"


@MISTAKES.add("unreadable-evaluation-file")
def detections_cut_short() -> str:
    write({"truth.json": json.dumps(COCO), "found.json": '[{"image_id": 1, '})
    return "eval --ground-truth truth.json --detections found.json"


@MISTAKES.add("unknown-in-detections")
def detections_of_other_images() -> str:
    found = [{"image_id": 7, "category_id": 1, "bbox": [4, 4, 20, 20], "score": 0.9}]
    write({"truth.json": json.dumps(COCO), "found.json": json.dumps(found)})
    return "eval --ground-truth truth.json --detections found.json"


@MISTAKES.parametrize()
def test_the_error(
    mistake: Mistake, capfd: pytest.CaptureFixture[str], stored: Callable[[str, str], None]
) -> None:
    stored(f"errors/{mistake.name}", error_of(mistake, capfd))
