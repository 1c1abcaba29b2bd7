"""Boxes copied on, classes that stop and annotations that slipped, in series of images."""

from __future__ import annotations

import random
from typing import Any

import numpy as np

from holdfast.data.checking.image_series import repeated_boxes, shifted, stopped_classes
from holdfast.data.checking.statistics import _COLUMNS

NAMES = [f"d/img_{n:03d}.jpg" for n in range(60)]


def table(count: int = 60) -> Any:
    rows = np.zeros(count, _COLUMNS)
    rows["look"] = np.random.default_rng(0).integers(0, 256, (count, 64))
    rows["looked"], rows["count"], rows["classes"] = True, 3, 0b11
    rows["boxes"] = np.arange(1, count + 1)
    rows["real"] = rows["declared"] = [[300 + 7 * (n * 5 % 11), 200 + n % 5] for n in range(count)]
    return rows


def test_boxes_copied_to_the_next_images() -> None:
    rows = table()
    rows["boxes"][20:32] = 21
    found = [(one.finding, one.file, one.count) for one in repeated_boxes(NAMES, rows)]
    assert found == [("repeated-boxes", NAMES[20], 12)]


def test_equal_boxes_that_are_right() -> None:
    forms, scene, one_box = table(), table(), table()
    forms["boxes"] = 7
    scene["boxes"][20:32], scene["look"][20:32] = 21, scene["look"][20]
    one_box["boxes"][20:32], one_box["count"] = 21, 1
    for rows in (table(), forms, scene, one_box):
        assert list(repeated_boxes(NAMES, rows)) == []


def test_a_class_that_stops_or_begins() -> None:
    rows = table()
    rows["classes"][36:] = 0b01
    found = [(one.finding, one.count) for one in stopped_classes(NAMES, rows, ["cat", "dog"], "d")]
    assert found == [("class-stops", 24)]
    found = [one.detail for one in stopped_classes(NAMES, rows[::-1], ["cat", "dog"], "d")]
    assert found == [
        "'dog' is in 36 of 36 images, and in none of the 24 up to d/img_023.jpg; the other classes are there as before"
    ]


def test_sorted_images_and_rare_classes() -> None:
    by_class, rare, empty = table(), table(), table()
    by_class["classes"] = [0b10] * 36 + [0b01] * 24
    draw = random.Random(1)
    rare["classes"] = [0b11 if at < 40 and draw.random() < 0.2 else 0b01 for at in range(60)]
    empty["classes"][36:], empty["count"][36:] = 0, 0
    for rows in (table(), by_class, rare, empty):
        assert list(stopped_classes(NAMES, rows, ["cat", "dog"], "d")) == []


def test_annotations_of_the_next_image() -> None:
    rows = table()
    rows["declared"][12:-1] = rows["real"][13:]
    assert [(one.finding, one.file) for one in shifted(NAMES, rows)] == [("shifted-annotations", NAMES[12])]


def test_sizes_that_are_wrong_in_other_ways() -> None:
    doubled, one_size = table(), table()
    doubled["declared"] *= 2
    one_size["declared"], one_size["real"][:] = [640, 480], [320, 240]
    for rows in (table(), doubled, one_size):
        assert list(shifted(NAMES, rows)) == []
