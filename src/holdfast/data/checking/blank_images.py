"""Images in which nothing can be seen: one grey from side to side, or values that fill next to none of their range."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from holdfast.data.dataset_reader import Problem

FEWEST = 8  # images; of fewer nothing is known
MOSTLY = 0.9  # of the images, or more: single blank ones are an accident of the camera
RANGE = 3  # grey levels of 255 between the darkest and the brightest of 64 areas: photographs have more


def problems(names: Sequence[str], table: Any, path: str) -> Iterator[Problem]:
    import numpy as np

    looks = table["look"][table["looked"]].astype(np.int16)
    if len(looks) < FEWEST:
        return
    blank = np.flatnonzero(looks.max(axis=1) - looks.min(axis=1) <= RANGE)
    if len(blank) < MOSTLY * len(looks):
        return
    first = names[int(np.flatnonzero(table["looked"])[blank[0]])]
    values = f"grey values from {looks[blank].min()} to {looks[blank].max()} of 255"
    said = f"{len(blank)} of {len(looks)} images have {values}, and all areas of one are alike; {first}, say"
    yield Problem("blank-images", path, said, len(blank))
