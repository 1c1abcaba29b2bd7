"""A class keeps its numbers by its name, whichever place it has in another list of classes."""

from __future__ import annotations

import numpy as np

from holdfast.detectors.class_heads import carry_classes, head_width, is_class_head

SSD, REGION_BOXES = "class_out_2/out/kernel", "region_head/box_out/bias"


def test_which_weights_have_numbers_for_each_class() -> None:
    for path in (
        SSD, REGION_BOXES, "head/class_out/out/bias", "region_head/class_out/kernel",
        "head.classification_head.module_list.3/out/kernel", "head.classification_head.module_list.3.1/out/bias",
        "x/head.classification_head.cls_logits/out/bias", "roi_heads.box_predictor.bbox_pred/kernel",
    ):  # fmt: skip
        assert is_class_head(path), path
    for path in (
        "box_out_2/out/kernel",
        "rpn.head.bbox_pred/out/kernel",
        "head.regression_head.module_list.0/out/bias",
    ):
        assert not is_class_head(path), path


def test_classes_move_by_name_and_the_background_stays_last() -> None:
    # Two anchors, each with (cat, dog, background).
    stored = np.array([[1, 2, 9, 11, 12, 19]], np.float32)
    fresh = np.zeros((1, 2 * 4), np.float32) - 1
    moved = carry_classes(SSD, stored, fresh, ("cat", "dog"), ("bird", "dog", "cat"), background=True)
    assert moved is not None
    np.testing.assert_array_equal(moved, [[-1, 2, 1, 9, -1, 12, 11, 19]])


def test_own_boxes_of_a_class_move_four_by_four() -> None:
    stored = np.arange(8, dtype=np.float32)
    fresh = np.full(4, -1, np.float32)
    moved = carry_classes(REGION_BOXES, stored, fresh, ("cat", "dog"), ("dog",), background=True)
    assert moved is not None
    np.testing.assert_array_equal(moved, [4, 5, 6, 7])


def test_without_a_shared_name_or_of_another_form_heads_stay_fresh() -> None:
    stored, fresh = np.zeros((1, 6)), np.ones((1, 6))
    assert carry_classes(SSD, stored, fresh, ("a", "b"), ("c", "d"), background=True) is None
    assert carry_classes(SSD, np.zeros((2, 6)), fresh, ("a", "b"), ("a", "d"), background=True) is None
    assert carry_classes(SSD, np.zeros((1, 9)), fresh, ("a", "b"), ("a", "d"), background=True) is None


def test_the_width_of_a_head_follows_its_classes() -> None:
    assert head_width(SSD, 6 * 91, 4, 90, background=True) == 6 * 5
    assert head_width(SSD, 9 * 91, 4, 91, background=False) == 9 * 4
    assert head_width(REGION_BOXES, 90 * 4, 3, 90, background=True) == 12
