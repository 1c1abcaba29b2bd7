"""Images in which nothing can be seen: one grey from side to side, or values that fill next to none of their range."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from holdfast.data.checking.look_alikes import blocks
from holdfast.data.dataset_reader import Problem

FEWEST = 8  # images; of fewer nothing is known
MOSTLY = 0.9  # of the images, or more: single blank ones are an accident of the camera
RANGE = 3  # grey levels of 255 between the darkest and the brightest of 64 areas: photographs have more


def problems(names: Sequence[str], table: Any, path: str) -> Iterator[Problem]:
    import numpy as np

    looks, looked = table["look"], int(table["looked"].sum())
    if looked < FEWEST:
        return
    parts = [looks[part].max(axis=1) - looks[part].min(axis=1) <= RANGE for part in blocks(len(looks))]
    blank = np.flatnonzero(np.concatenate(parts) & table["looked"])
    if len(blank) < MOSTLY * looked:
        return
    first = names[int(blank[0])]
    values = f"grey values from {looks[blank].min()} to {looks[blank].max()} of 255"
    said = f"{len(blank)} of {looked} images have {values}, and all areas of one are alike; {first}, say"
    yield Problem("blank-images", path, said, len(blank))
