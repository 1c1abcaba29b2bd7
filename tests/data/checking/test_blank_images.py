"""Images in which nothing can be seen."""

from __future__ import annotations

import numpy as np

from holdfast.data.checking.blank_images import problems


def table(looks):
    made = np.zeros(len(looks), [("looked", "?"), ("look", "u1", 64)])
    made["looked"], made["look"] = True, looks
    return made


def test_pixels_of_zero_to_one() -> None:
    rng = np.random.default_rng(0)
    (found,) = problems([f"{n}.png" for n in range(20)], table(rng.integers(0, 2, (20, 64))), "set")
    assert (found.finding, found.count) == ("blank-images", 20)
    assert found.detail == (
        "20 of 20 images have grey values from 0 to 1 of 255, and all areas of one are alike; 0.png, say"
    )


def test_photographs_some_blank_ones_and_few() -> None:
    rng = np.random.default_rng(0)
    photographs = rng.integers(60, 90, (20, 64))
    some = photographs.copy()
    some[:15] = 7
    for looks in (photographs, some, np.zeros((5, 64))):
        assert list(problems([f"{n}.png" for n in range(len(looks))], table(looks), "set")) == []
