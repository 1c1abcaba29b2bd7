"""Boxes beside the objects, and what must not be taken for them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from holdfast.data.pixels.misplaced_boxes import READINGS, misplacements

from .scenes import look


@pytest.mark.parametrize(
    "fault", ["mirrored left to right", "turned by 180 degrees", "with all numbers doubled"]
)
def test_one_cameras_boxes(fault: str) -> None:
    """The reading that brings them back is the one that made them, but for sizes."""
    undone = {"with all numbers doubled": "with all numbers halved"}.get(fault, fault)
    looks = [look(n, f"d/{'front' if n % 3 else 'back'}_{n:03d}.jpg") for n in range(36)]
    for at in range(0, 36, 3):
        boxes = READINGS[undone](looks[at].boxes, 160, 120)
        looks[at] = replace(looks[at], boxes=boxes)
    found = list(misplacements(looks))
    assert [one.part for one in found] == ["images with 'back' in their names"]
    assert found[0].how == fault
    assert found[0].members == tuple(range(0, 36, 3))


def test_all_boxes_moved() -> None:
    looks = [look(n) for n in range(30)]
    looks = [replace(one, boxes=one.boxes + np.array([0, 16, 0, 16])) for one in looks]
    found = list(misplacements(looks))
    assert [(one.part, one.how) for one in found] == [("all images", "about 16 pixels further up")]


def test_boxes_on_objects_and_loose_ones() -> None:
    looks = [look(n) for n in range(30)]
    loose = [replace(one, boxes=one.boxes + np.array([-4, -5, 5, 4])) for one in looks]
    nothing = [replace(one, boxes=one.boxes[:, [1, 0, 3, 2]] / 3 + 40) for one in looks]
    for given in (looks, loose, nothing, looks[:5], []):
        assert list(misplacements(given)) == []


def test_a_structure_that_is_always_there() -> None:
    """Boxes of one thing, seen again and again beside a machine: they prove as little as one box."""
    looks = []
    for n in range(30):
        pixels = look(n, things=0).pixels.copy()
        pixels[30:90, 100:140] = 250
        looks.append(replace(look(n), pixels=pixels, boxes=np.array([[50.0, 30, 90, 90]]), names=("pit",)))
    assert list(misplacements(looks)) == []
