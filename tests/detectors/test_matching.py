import numpy as np
import pytest
from keras import ops

from holdfast.detectors.anchors.matcher import match
from tests.detectors import detector_reference as reference

pytestmark = pytest.mark.hot

ANCHORS = np.array([[0, 0, 10, 10], [5, 0, 15, 10], [20, 20, 30, 30], [40, 40, 60, 60]], np.float32)


def run(boxes, real=None, crowd=None, **kwargs):
    boxes = np.asarray(boxes, np.float32).reshape(1, -1, 4)
    real = np.ones(boxes.shape[:2], bool) if real is None else np.array([real])
    crowd = np.zeros(boxes.shape[:2], bool) if crowd is None else np.array([crowd])
    settings = {"positive_from": 0.5, "negative_below": 0.4, "force": False} | kwargs
    found = match(ANCHORS, boxes, real, crowd, **settings)
    return [np.asarray(ops.convert_to_numpy(part))[0].tolist() for part in found]


def test_thresholds_by_hand():
    # with (0,0,10,10): anchor 0 has 1, anchor 1 50/150; with (20,20,30,29): anchor 2 has .9
    index, positive, negative = run([[0, 0, 10, 10], [20, 20, 30, 29]])
    assert positive == [True, False, True, False]
    assert negative == [False, True, False, True]
    assert (index[0], index[2]) == (0, 1)


def test_between_the_thresholds_is_ignored():
    _, positive, negative = run([[0, 0, 10, 10]], positive_from=0.5, negative_below=0.3)
    assert (positive[1], negative[1]) == (False, False)  # a third


def test_force_gives_each_box_its_best_anchor():
    index, positive, negative = run([[0, 0, 10, 10], [44, 44, 50, 50]], force=True)  # second: 36 / 400
    assert positive == [True, False, False, True]
    assert index[3] == 1
    assert not negative[3]


def test_a_forced_anchor_wanted_twice_goes_to_the_larger_overlap():
    index, positive, _ = run([[44, 44, 50, 50], [44, 44, 54, 54]], force=True)
    assert positive[3]
    assert index[3] == 1


def test_a_box_that_no_anchor_touches_is_not_forced():
    _, positive, negative = run([[100, 100, 110, 110]], force=True)
    assert positive == [False] * 4
    assert negative == [True] * 4


def test_an_image_without_boxes_is_all_background():
    _, positive, negative = run([[0, 0, 0, 0], [0, 0, 0, 0]], real=[False, False], force=True)
    assert positive == [False] * 4
    assert negative == [True] * 4


def test_inside_a_crowd_nothing_is_background_and_nothing_is_matched():
    # the crowd covers anchor 2 wholly, anchor 3 by a quarter
    _, positive, negative = run([[20, 20, 50, 50]], crowd=[True], force=True)
    assert positive == [False] * 4
    assert negative == [True, True, False, True]


def test_a_real_box_inside_a_crowd_is_still_matched():
    index, positive, _ = run([[20, 20, 50, 50], [20, 20, 30, 30]], crowd=[True, False])
    assert positive == [False, False, True, False]
    assert index[2] == 1


def test_against_loops():
    rng = np.random.default_rng(11)
    anchors, boxes = reference.random_boxes(rng, 300), reference.random_boxes(rng, 12)
    overlap = np.array([[reference.iou(a, b) for b in boxes] for a in anchors])
    positive = overlap.max(1) >= 0.5
    index = overlap.argmax(1)
    for box in np.argsort(overlap.max(0)):  # the larger claim last, so that it wins
        positive[overlap[:, box].argmax()] = True
        index[overlap[:, box].argmax()] = box
    found = match(
        anchors, boxes[None], np.ones((1, 12), bool), np.zeros((1, 12), bool),
        positive_from=0.5, negative_below=0.4, force=True,
    )  # fmt: skip
    found_index, found_positive, found_negative = (ops.convert_to_numpy(part)[0] for part in found)
    np.testing.assert_array_equal(found_positive, positive)
    np.testing.assert_array_equal(found_index[positive], index[positive])
    np.testing.assert_array_equal(found_negative, (overlap.max(1) < 0.4) & ~positive)
