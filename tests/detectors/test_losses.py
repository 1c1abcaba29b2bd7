import math

import numpy as np
import pytest
from keras import ops

from holdfast.detectors.ops import losses
from tests.detectors import detector_reference as reference

pytestmark = pytest.mark.hot


def numpy(tensor):
    return np.asarray(ops.convert_to_numpy(tensor))


def test_focal_by_hand():
    logits = np.array([0.0, 0.0, math.log(9), -math.log(9)], np.float32)  # p = .5 .5 .9 .1
    targets = np.array([1, 0, 1, 1], np.float32)
    expected = [
        0.25 * 0.25 * math.log(2),
        0.75 * 0.25 * math.log(2),
        0.25 * 0.01 * -math.log(0.9),
        0.25 * 0.81 * -math.log(0.1),
    ]
    np.testing.assert_allclose(numpy(losses.focal(logits, targets)), expected, rtol=1e-5)


@pytest.mark.parametrize(("alpha", "gamma"), [(0.25, 2.0), (0.5, 0.0), (0.25, 1.5)])
def test_focal_against_the_formula(alpha, gamma):
    logits = np.linspace(-8, 8, 33, dtype=np.float32)
    for target in (0, 1):
        targets = np.full_like(logits, target)
        expected = [reference.focal(float(x), target, alpha, gamma) for x in logits]
        found = numpy(losses.focal(logits, targets, alpha, gamma))
        np.testing.assert_allclose(found, expected, rtol=2e-4, atol=1e-9)


def test_focal_is_finite_at_the_ends():
    found = numpy(losses.focal(np.array([-200, 200], np.float32), np.array([1, 0], np.float32)))
    np.testing.assert_allclose(found, [50.0, 150.0], rtol=1e-5)


def test_smooth_l1_by_hand():
    off = np.array([0, 0.05, 1 / 9, 1.0, -3.0], np.float32)
    expected = [0, 0.5 * 0.05**2 * 9, 1 / 18, 1 - 1 / 18, 3 - 1 / 18]
    np.testing.assert_allclose(
        numpy(losses.smooth_l1(off, np.zeros(5, np.float32), 1 / 9)), expected, rtol=1e-5
    )


def test_giou_by_hand():
    a = np.array([[0, 0, 2, 2], [0, 0, 2, 2], [0, 0, 1, 1]], np.float32)
    b = np.array([[0, 0, 2, 2], [1, 1, 3, 3], [2, 0, 3, 1]], np.float32)
    # equal: 0; shared 1, union 7, hull 9; apart: union 2, hull 3
    expected = [0.0, 1 - (1 / 7 - 2 / 9), 1 - (0 - 1 / 3)]
    np.testing.assert_allclose(numpy(losses.giou_loss(a, b)), expected, atol=1e-6)


def test_giou_against_the_formula():
    rng = np.random.default_rng(0)
    a, b = reference.random_boxes(rng, 100), reference.random_boxes(rng, 100)
    expected = [
        1 - reference.giou(x.astype(np.float64), y.astype(np.float64)) for x, y in zip(a, b, strict=True)
    ]
    np.testing.assert_allclose(numpy(losses.giou_loss(a, b)), expected, atol=1e-5)


def test_cross_entropies_by_hand():
    logits = np.array([[0, 0, 0, 0], [math.log(7), 0, 0, 0]], np.float32)
    found = numpy(losses.softmax_cross_entropy(logits, np.array([2, 0])))
    np.testing.assert_allclose(found, [math.log(4), -math.log(0.7)], rtol=1e-6)
    binary = numpy(losses.binary_cross_entropy(np.array([0, math.log(3)], np.float32), np.array([1.0, 0.0])))
    np.testing.assert_allclose(binary, [math.log(2), -math.log(0.25)], rtol=1e-6)


def test_priors_give_their_probability():
    assert 1 / (1 + math.exp(-losses.prior_bias(0.01))) == pytest.approx(0.01)
    background = losses.background_bias(0.01, 20)
    assert 1 / (20 + math.exp(background)) == pytest.approx(0.01)
    assert 400 / (400 + math.exp(losses.background_bias(0.01, 400))) == pytest.approx(0.5)


def test_a_box_loss_of_each_kind_by_hand():
    from holdfast.detectors.ops.boxes import UNSCALED
    from holdfast.detectors.ops.losses import box_loss

    anchors = np.array([[0, 0, 10, 10]], np.float32)
    box = np.array([[5, 0, 15, 10]], np.float32)
    still = np.zeros((1, 4), np.float32)
    # half a side to the right: offset 0.5, above beta; overlap 50 of 150, and the hull is the union
    found = box_loss(still, box, anchors, UNSCALED, kind="smooth-l1", beta=1 / 9)
    np.testing.assert_allclose(numpy(found), [0.5 - 1 / 18], rtol=1e-5)
    found = box_loss(still, box, anchors, UNSCALED, kind="giou", beta=1 / 9)
    np.testing.assert_allclose(numpy(found), [1 - 1 / 3], rtol=1e-5)
