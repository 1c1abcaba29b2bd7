"""Detections written as COCO's results have the numbers of `holdfast data convert --to coco`."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np

from holdfast.data.records import Dataset, ImageRef, Record
from holdfast.evaluate.coco_results import coco_results


def source(*splits: str | None, **more: Any) -> Dataset:
    """An image for every split that is named, with ids that are no numbers."""
    records = tuple(
        Record(f"p{n}", f"p{n}.jpg", ImageRef(f"p{n}.jpg"), (), split) for n, split in enumerate(splits)
    )
    return Dataset("made", "voc", records, ("bird", "cat", "dog"), **more)


def seen(label: int) -> Any:
    return SimpleNamespace(
        boxes=np.array([[1.0, 2, 4, 6]]), scores=np.array([0.5]), classes=np.array([label])
    )


def numbers(whole: Dataset, tried: Dataset, classes: tuple[str, ...]) -> list[tuple[int, int]]:
    rows = coco_results(
        whole, tried.records, [seen(n % len(classes)) for n in range(len(tried.records))], classes
    )
    return [(row["image_id"], row["category_id"]) for row in rows]


def test_one_object_a_detection() -> None:
    whole = source(None)
    assert coco_results(whole, whole.records, [seen(2)], whole.classes) == [
        {"image_id": 1, "category_id": 2, "bbox": [1.0, 2.0, 3.0, 4.0], "score": 0.5}
    ]


def test_some_images_of_a_source_keep_the_numbers_that_they_have_among_all() -> None:
    whole = source(*[None] * 5)
    tried = replace(whole, records=(whole.records[1], whole.records[4]), classes=("dog", "cat"))
    assert numbers(whole, tried, ("dog", "cat")) == [(2, 2), (5, 1)]


def test_a_split_is_numbered_by_itself_as_the_converter_does() -> None:
    whole = source("train", "val", "train", "val")
    assert numbers(whole, whole.only_split("val"), ("bird",)) == [(1, 0), (2, 0)]
    assert [image for image, _ in numbers(whole, whole, ("bird",))] == [1, 2, 3, 4], "no two share a number"


def test_the_sources_own_categories_and_fresh_ones_for_the_rest() -> None:
    whole = source(*[None] * 4, class_ids=(16, 17, 18))
    assert [number for _, number in numbers(whole, whole, ("dog", "cow", "bird", "cat"))] == [18, 19, 16, 17]
