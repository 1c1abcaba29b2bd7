"""Targets of a grid: an object, its place in its cell, its size and its class in one row of numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from holdfast.probe.detection import detection_grids, detection_samples


def _boxes(count: int = 60) -> Any:
    random = np.random.default_rng(0)
    size = random.uniform(0.2, 0.45, (count, 2))
    corner = random.uniform(0, 1 - size)
    return np.concatenate([corner, corner + size], axis=1)


def _grid(boxes: Any, *, log: bool = False, cells: float = 1.0, first: int = 1) -> Any:
    """`cells`: what sizes are multiplied by. `first`: the column of the box; classes lie on the other side."""
    made = np.zeros((len(boxes), 6, 6, 8), "float32")
    for number, (x0, y0, x1, y1) in enumerate(boxes):
        x, y = (x0 + x1) / 2, (y0 + y1) / 2
        column, row = min(int(x * 6), 5), min(int(y * 6), 5)
        size = np.array([x1 - x0, y1 - y0]) * cells
        here = made[number, row, column]
        here[first : first + 4] = [x * 6 - column, y * 6 - row, *(np.log(size / 0.3) if log else size)]
        here[first - 1] = 1.0
        here[5 + number % 3 if first == 1 else number % 3] = 1.0
    return made


@pytest.mark.parametrize("first", [1, 4])
@pytest.mark.parametrize("cells", [1.0, 6.0])
def test_a_grid_as_it_should_be(first: int, cells: float) -> None:
    seen = detection_grids.cells_seen(_grid(_boxes(), first=first, cells=cells))
    assert seen is not None and seen["objects"] == 60 and seen["one_cell"] < 0.2
    assert (seen["beyond"], seen["negative"]) == (0.0, 0.0) and seen["highest"] <= 1.0


def test_pixels_all_fall_into_the_last_cell() -> None:
    seen = detection_grids.cells_seen(_grid(_boxes() * 48))
    assert seen is not None and seen["one_cell"] == seen["beyond"] == 1.0 and seen["highest"] > 100


def test_a_width_for_a_corner_gives_sizes_below_zero() -> None:
    boxes = _boxes()
    boxes[:, 2:] -= boxes[:, :2]
    seen = detection_grids.cells_seen(_grid(boxes))
    assert seen is not None and seen["negative"] > 0.3 and seen["follows"] < -0.65


def test_a_logarithm_of_a_size_is_below_zero_and_does_not_follow_the_place() -> None:
    seen = detection_grids.cells_seen(_grid(_boxes(), log=True))
    assert seen is not None and seen["negative"] > 0.3 and abs(seen["follows"]) < 0.4


def test_what_is_no_grid() -> None:
    random = np.random.default_rng(1)
    images, one_hot = random.normal(size=(20, 6, 6, 8)), np.eye(8)[random.integers(0, 8, (20, 6, 6))]
    slate = np.concatenate([_grid(_boxes())[..., 1:5], _grid(_boxes())[..., :1]], axis=-1)
    for target in (images, one_hot, slate, np.zeros((20, 6, 6, 8)), images[..., 0]):
        assert detection_grids.cells_seen(target) is None


def test_a_grid_has_no_columns_of_boxes() -> None:
    seen = detection_samples.targets_seen([np.zeros((60, 48, 48, 3))], [_grid(_boxes())], [])
    assert seen is not None and (seen.columns, seen.ids, seen.box_rows) == ([], {}, 60)
