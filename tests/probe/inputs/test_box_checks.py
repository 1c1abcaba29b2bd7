"""What is wrong with a batch, by hand-made batches."""

from __future__ import annotations

import numpy as np

from holdfast.probe.inputs.box_checks import BoxColumns, judge

CORNERS = np.array([[10.0, 10.0, 50.0, 60.0]] * 20)


def learnt(array: np.ndarray) -> BoxColumns:
    known = BoxColumns()
    known.learn([array])
    return known


def test_a_value_that_is_not_finite_is_named_with_its_row() -> None:
    batch = np.ones((4, 3), "float32")
    batch[2, 1] = np.inf
    assert judge(batch, 0, BoxColumns()) == {
        "path": "part 0", "shape": [4, 3], "dtype": "float32", "finite": False, "row": 2, "value": "inf",
        "columns": [1],
    }  # fmt: skip


def test_boxes_that_cannot_be_are_counted_by_kind() -> None:
    batch = CORNERS[:6].copy()
    batch[1] = [50, 10, 10, 60]
    batch[3] = [10, 10, 10, 60]
    batch[4, 0] = np.nan
    found = judge(batch, 0, learnt(CORNERS))
    assert found is not None
    assert found["boxes"] == {
        "inverted": 1, "zero_area": 1, "not_finite": 1, "rows": [1, 3, 4], "first": [50.0, 10.0, 10.0, 60.0],
    }  # fmt: skip
    assert found["row"] == 4


def test_padding_and_whole_boxes_are_not_blamed() -> None:
    padded = np.concatenate([CORNERS[:3], np.zeros((2, 4)), -np.ones((2, 4))])[None]
    assert judge(padded, 0, learnt(CORNERS)) is None


def test_four_numbers_that_are_no_corners_are_not_blamed() -> None:
    features = np.random.default_rng(0).normal(size=(64, 4))
    centre_and_size = np.tile([0.5, 0.5, 0.2, 0.1], (64, 1))
    assert judge(features, 0, learnt(features)) is None
    assert judge(centre_and_size, 0, learnt(centre_and_size)) is None


def test_too_few_rows_to_know_that_they_are_boxes() -> None:
    batch = np.array([[10.0, 10.0, 50.0, 60.0], [50.0, 10.0, 10.0, 60.0]])
    assert judge(batch, 0, learnt(batch)) is None


def test_a_box_of_a_padded_batch_is_named_by_its_sample() -> None:
    batch = np.tile(CORNERS[0], (5, 3, 1))
    batch[3, 1] = [50, 10, 10, 60]
    found = judge(batch, 1, _second())
    assert found is not None and found["boxes"]["rows"] == [3]


def _second() -> BoxColumns:
    known = BoxColumns()
    known.learn([np.zeros((5, 8)), np.tile(CORNERS[0], (5, 4, 1))])
    return known
