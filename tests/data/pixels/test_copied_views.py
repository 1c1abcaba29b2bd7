"""Cuts and neighbouring frames of training images in another split."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from PIL import Image

from holdfast.data.pixels.copied_views import problems
from holdfast.data.pixels.look_sample import CloseLook

from .scenes import look


def cut(one: CloseLook, name: str) -> CloseLook:
    x, y, scale = 16, 12, 0.8
    small = Image.fromarray(one.pixels).crop((x, y, x + 128, y + 96)).resize((160, 120))
    boxes = (one.boxes - np.array([x, y, x, y])) / scale
    inside = (boxes[:, :2] >= 0).all(1) & (boxes[:, 2:] <= [160, 120]).all(1)
    names = tuple(np.array(one.names, object)[inside])
    return replace(one, file=name, split="val", pixels=np.asarray(small), boxes=boxes[inside], names=names)


def test_cuts_of_training_images() -> None:
    train = [look(n, f"train/{n}.jpg", "train", things=4) for n in range(24)]
    val = [cut(one, f"val/{n}.jpg") for n, one in enumerate(train[:8])]
    found = [one for one in problems([*train, *val], "d") if one.finding == "split-siblings"]
    assert len(found) >= 6
    assert all(f"shows a part of train/{one.file[4:]}," in one.detail for one in found)


def test_other_images_are_no_cuts() -> None:
    train = [look(n, f"train/{n}.jpg", "train") for n in range(24)]
    val = [cut(look(n + 100), f"val/{n}.jpg") for n in range(8)]
    assert list(problems([*train, *val], "d")) == []


def test_frames_with_the_same_boxes_and_a_fixed_camera() -> None:
    train = [look(n, f"train/{n}.jpg", "train") for n in range(12)]
    frames = [
        replace(one, file=f"val/{n}.jpg", split="val", boxes=one.boxes + 1, pixels=one.pixels // 2 + 9)
        for n, one in enumerate(train[:6])
    ]
    assert [one.finding for one in problems([*train, *frames], "d")] == ["split-neighbours"]
    elsewhere = [replace(one, boxes=one.boxes[:, [1, 0, 3, 2]] / 2 + 20) for one in frames]
    assert list(problems([*train, *elsewhere], "d")) == []
