"""The API's matcher, on boxes as y1, x1, y2, x2."""

from __future__ import annotations

import numpy as np
import pytest

from holdfast.detectors.object_detection_api.argmax_matcher import match

pytestmark = pytest.mark.hot

ANCHORS = np.array([[-2, 0, 8, 10], [1, 1, 7, 7], [20, 20, 30, 30]], np.float32)
BOX = np.array([[[0, 0, 8, 10]]], np.float32)
LIMITS = {"matched_from": 0.7, "unmatched_below": 0.3, "forced": True}


def of(usable: np.ndarray | None) -> tuple[list[bool], list[bool]]:
    one = np.ones((1, 1), bool)
    found = match(ANCHORS, BOX, one, ~one, usable=usable, **LIMITS)
    return np.asarray(found.positive)[0].tolist(), np.asarray(found.negative)[0].tolist()


def test_a_box_takes_its_best_anchor() -> None:
    assert of(None) == ([True, False, False], [False, False, True])


def test_a_box_takes_the_best_of_the_usable_anchors() -> None:
    """The API removes anchors that leave the image before it matches: they must not take a box away."""
    assert of(np.array([False, True, True]))[0] == [False, True, False]
