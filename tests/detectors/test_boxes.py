import math

import numpy as np
import pytest
from keras import ops

from holdfast.detectors.ops import boxes as under_test
from tests.detectors import detector_reference as reference

pytestmark = pytest.mark.hot


def numpy(tensor):
    return np.asarray(ops.convert_to_numpy(tensor))


def test_iou_by_hand():
    a = np.array([[0, 0, 4, 4]], np.float32)
    b = np.array([[2, 2, 6, 6], [0, 0, 4, 4], [4, 0, 8, 4], [1, 1, 3, 3], [3, 3, 1, 1]], np.float32)
    # shared 4 of 28; all; they touch; 4 inside 16; inverted boxes have no area
    expected = [[4 / 28, 1.0, 0.0, 0.25, 0.0]]
    np.testing.assert_allclose(numpy(under_test.pairwise_iou(a, b)), expected, atol=1e-6)


def test_iou_against_loops():
    rng = np.random.default_rng(3)
    a, b = reference.random_boxes(rng, 20), reference.random_boxes(rng, 30)
    expected = [[reference.iou(x, y) for y in b] for x in a]
    np.testing.assert_allclose(numpy(under_test.pairwise_iou(a, b)), expected, atol=1e-5)


def test_share_inside_by_hand():
    a = np.array([[0, 0, 4, 4]], np.float32)
    b = np.array([[2, 0, 10, 10], [0, 0, 1, 1]], np.float32)
    np.testing.assert_allclose(numpy(under_test.share_inside(a, b)), [[0.5, 1 / 16]], atol=1e-6)


def test_encode_by_hand():
    anchor = np.array([[0, 0, 10, 20]], np.float32)  # centre (5, 10)
    box = np.array([[5, 10, 25, 20]], np.float32)  # centre (15, 15), 20 x 10
    expected = [[1.0, 0.25, math.log(2), math.log(0.5)]]
    np.testing.assert_allclose(numpy(under_test.encode(box, anchor)), expected, atol=1e-6)
    scaled = numpy(under_test.encode(box, anchor, under_test.SCALED))
    np.testing.assert_allclose(scaled, np.array(expected) * [10, 10, 5, 5], atol=1e-5)


@pytest.mark.parametrize("weights", [under_test.SCALED, under_test.UNSCALED])
def test_decode_undoes_encode(weights):
    rng = np.random.default_rng(5)
    boxes, anchors = reference.random_boxes(rng, 200), reference.random_boxes(rng, 200)
    back = under_test.decode(under_test.encode(boxes, anchors, weights), anchors, weights)
    np.testing.assert_allclose(numpy(back), boxes, atol=1e-3)


def test_no_offset_gives_the_anchor_and_a_huge_one_stays_finite():
    anchors = np.array([[8, 8, 24, 24]], np.float32)
    np.testing.assert_allclose(numpy(under_test.decode(np.zeros((1, 4), np.float32), anchors)), anchors)
    wild = numpy(under_test.decode(np.array([[0, 0, 1e6, 1e6]], np.float32), anchors))
    np.testing.assert_allclose(wild, [[16 - 500, 16 - 500, 16 + 500, 16 + 500]], rtol=1e-5)


def test_padding_encodes_to_finite_numbers():
    anchors = np.array([[8, 8, 24, 24]], np.float32)
    assert np.isfinite(numpy(under_test.encode(np.zeros((1, 4), np.float32), anchors))).all()


def test_clip_by_hand():
    boxes = np.array([[-5, 3, 700, 20], [10, 10, 20, 900]], np.float32)
    np.testing.assert_allclose(numpy(under_test.clip(boxes, 480, 640)), [[0, 3, 640, 20], [10, 10, 20, 480]])


def test_overlaps_that_decide_are_on_a_grid():
    np.testing.assert_allclose(
        numpy(under_test.on_grid(np.array([0.5, 0.50000006, 0.1], np.float32))),
        [0.5, 0.5, 6554 / 65536],
        atol=0,
    )
