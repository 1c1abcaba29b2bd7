"""Classes and colours that differ between two parts of a dataset."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from holdfast.data.pixels.look_sample import CloseLook
from holdfast.data.pixels.object_looks import ObjectLooks

from .scenes import look


def found(looks: list[CloseLook]) -> list[tuple[str, str]]:
    return [(one.finding, one.detail.split(":")[0]) for one in ObjectLooks(looks).problems("d")]


def two_splits() -> list[CloseLook]:
    return [look(n, f"{s}/{n:03d}.jpg", s) for n in range(60) for s in ["val" if n % 3 == 0 else "train"]]


def test_classes_in_another_order() -> None:
    other = {"red": "green", "green": "red"}
    looks = [
        replace(one, names=tuple(other.get(name, name) for name in one.names)) if one.split == "val" else one
        for one in two_splits()
    ]
    assert found(looks) == [("class-order-differs", "images of val")]


def test_red_and_blue_exchanged() -> None:
    looks = [
        replace(one, pixels=one.pixels[..., ::-1]) if one.split == "val" else one for one in two_splits()
    ]
    assert ("colour-order-differs", "images of val") in found(looks)


def test_other_light_and_grey_images() -> None:
    blue = [
        replace(one, pixels=(one.pixels * np.array([0.8, 0.9, 1.0])).astype(np.uint8))
        if one.split == "val"
        else one
        for one in two_splits()
    ]
    grey = [
        replace(one, pixels=one.pixels.mean(2, keepdims=True).repeat(3, 2).astype(np.uint8)) for one in blue
    ]
    for looks in (two_splits(), blue, grey):
        assert found(looks) == []
