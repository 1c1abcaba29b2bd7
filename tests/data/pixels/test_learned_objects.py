"""Boxes of one part that hold background, and objects once they are read in another way."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from holdfast.data.pixels.learned_objects import LearnedObjects
from holdfast.data.pixels.look_sample import CloseLook
from holdfast.data.pixels.misplaced_boxes import READINGS

from .scenes import look

EXCHANGED = "with x and y exchanged as fractions of the sides"


def two_splits() -> list[CloseLook]:
    return [look(n, f"{s}/{n:03d}.jpg", s) for n in range(72) for s in ["val" if n % 3 == 0 else "train"]]


def found(looks: list[CloseLook]) -> list[tuple[str, str]]:
    return [(one.part, one.how) for one in LearnedObjects(looks).misplacements()]


@pytest.mark.parametrize("how", [EXCHANGED, "mirrored left to right", "turned by 180 degrees"])
def test_one_splits_boxes(how: str) -> None:
    looks = [
        replace(one, boxes=READINGS[how](one.boxes, *one.sides)) if one.split == "val" else one
        for one in two_splits()
    ]
    assert found(looks) == [("images of val", how)]


def test_one_splits_boxes_of_smaller_images() -> None:
    looks = [replace(one, boxes=one.boxes * 0.75) if one.split == "val" else one for one in two_splits()]
    assert found(looks) == [("images of val", "with all numbers times 1.33")]


def test_a_part_of_many_images() -> None:
    looks = [look(n, f"d/{'front' if n % 4 else 'back'}_{n:03d}.jpg", things=2) for n in range(330)]
    changed = [
        replace(one, boxes=READINGS[EXCHANGED](one.boxes, *one.sides)) if "back" in one.file else one
        for one in looks
    ]
    assert found(changed) == [("images with 'back' in their names", EXCHANGED)]
    unclear = [replace(one, boxes=look(500 + at, things=2).boxes) for at, one in enumerate(looks)]
    assert found(looks) == found(unclear) == []
    two = [replace(one, split="val" if at >= 150 else "train") for at, one in enumerate(looks[:200])]
    wrong = [replace(one, boxes=one.boxes * 0.75) if one.split == "val" else one for one in two]
    assert found(two) == []
    assert found(wrong) == [("images of val", "with all numbers times 1.33")]


def test_what_says_so() -> None:
    looks = [
        replace(one, boxes=READINGS[EXCHANGED](one.boxes, *one.sides)) if one.split == "val" else one
        for one in two_splits()
    ]
    (one,) = LearnedObjects(looks).misplacements()
    assert one.text.startswith(
        f"images of val (24 looked at): the boxes hold what boxes of the other images hold {EXCHANGED}, and background"
    )
    assert one.as_read < 0.1 < one.moved


def test_right_loose_and_useless_boxes() -> None:
    looks = two_splits()
    dark = [replace(one, pixels=one.pixels // 2) if one.split == "val" else one for one in looks]
    loose = [
        replace(one, boxes=one.boxes + np.array([-3, -4, 4, 3])) if one.split == "val" else one
        for one in looks
    ]
    random = [
        replace(one, boxes=look(900 + at).boxes) if one.split == "val" else one
        for at, one in enumerate(looks)
    ]
    everywhere = [replace(one, boxes=look(500 + at).boxes) for at, one in enumerate(looks)]
    for given in (looks, dark, loose, random, everywhere, looks[:7], []):
        assert found(given) == []


def test_parts_that_are_known_are_left_out() -> None:
    looks = [
        replace(one, boxes=READINGS[EXCHANGED](one.boxes, *one.sides)) if one.split == "val" else one
        for one in two_splits()
    ]
    known = frozenset(at for at, one in enumerate(looks) if one.split == "val")
    assert list(LearnedObjects(looks).misplacements(known)) == []
