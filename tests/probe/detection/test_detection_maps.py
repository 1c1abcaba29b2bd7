"""Maps with an object here and there: how many, and how many at each edge."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from holdfast.probe.detection.detection_maps import objects_on

pytestmark = pytest.mark.hot
_ROWS, _COLUMNS = np.mgrid[:24, :32]


def _heat(factor: float, images: int = 200) -> Any:
    """Centres of a map of 24 x 32 places, from coordinates in an image that is `factor` times as large."""
    random = np.random.default_rng(0)
    maps = np.zeros((images, 24, 32, 1), "float32")
    for one in maps:
        y = min(int(random.uniform(1, 23) * factor), 23)
        x = min(int(random.uniform(1, 31) * factor), 31)
        one[..., 0] = np.exp(-((_COLUMNS - x) ** 2 + (_ROWS - y) ** 2) / 2)
    return maps


def test_centres_that_fit_lie_anywhere() -> None:
    seen = objects_on(_heat(1))
    assert seen is not None and (seen["objects"], seen["rows"], seen["columns"]) == (200, 24, 32)
    assert max(seen["top"], seen["bottom"], seen["left"], seen["right"]) < 20


def test_centres_of_a_larger_image_are_clipped_to_the_last_row_and_column() -> None:
    seen = objects_on(_heat(2))
    assert seen is not None and min(seen["bottom"], seen["right"]) > 80 and seen["top"] == seen["left"] == 0
    first = objects_on(np.moveaxis(_heat(2), -1, 1))
    assert first == seen


def test_areas_and_pictures_are_no_maps_of_objects() -> None:
    random = np.random.default_rng(0)
    area = np.zeros((20, 24, 32), "int64")
    area[:, 4:9, 6:12] = 1
    assert objects_on(area) is None
    assert objects_on(random.uniform(0, 1, (20, 24, 32, 3))) is None
    assert objects_on(random.integers(0, 3, (20, 24, 32))) is None
    assert objects_on(random.integers(0, 2, (20, 3))) is None
