import numpy as np
import pytest
from keras import ops

from holdfast.detectors.ops.nms import first_kept, keep_mask, per_class_nms
from tests.detectors import detector_reference as reference

pytestmark = pytest.mark.hot


def numpy(tensor):
    return np.asarray(ops.convert_to_numpy(tensor))


def test_a_chain_by_hand():
    # neighbours overlap by 6/14, the ones after by 2/18: the first removes the second, so the third stays
    boxes = np.array([[[0, 0, 10, 10], [4, 0, 14, 10], [8, 0, 18, 10], [12, 0, 22, 10]]], np.float32)
    kept = keep_mask(boxes, np.ones((1, 4), bool), 0.4)
    assert numpy(kept).tolist() == [[True, False, True, False]]


def test_a_long_chain_settles():
    corner = np.arange(60, dtype=np.float32) * 4
    boxes = np.stack([corner, corner * 0, corner + 10, corner * 0 + 10], axis=1)[None]
    kept = numpy(keep_mask(boxes, np.ones((1, 60), bool), 0.4))[0]
    assert kept.tolist() == [index % 2 == 0 for index in range(60)]


@pytest.mark.parametrize("seed", range(4))
def test_against_the_sequential_algorithm(seed):
    rng = np.random.default_rng(seed)
    boxes = np.stack([reference.random_boxes(rng, 150) for _ in range(3)])
    scores = np.sort(rng.random((3, 150)).astype(np.float32))[:, ::-1]
    kept = numpy(keep_mask(boxes, np.ones((3, 150), bool), 0.3))
    for image in range(3):
        expected = reference.greedy_nms(boxes[image], scores[image], 0.3)
        assert np.flatnonzero(kept[image]).tolist() == sorted(expected)


def test_classes_do_not_suppress_each_other():
    boxes = np.array([[[0, 0, 10, 10], [0, 0, 10, 10], [50, 50, 60, 60]]], np.float32)
    scores = np.array([[[0.9, 0.2], [0.8, 0.7], [0.0, 0.6]]], np.float32)
    found = per_class_nms(boxes, scores, score_above=0.1, overlap_above=0.5, candidates=6, size=5)
    np.testing.assert_allclose(numpy(found.scores), [[0.9, 0.7, 0.6, 0, 0]], rtol=1e-6)
    assert numpy(found.classes).tolist() == [[0, 1, 1, -1, -1]]
    assert numpy(found.boxes)[0, 2].tolist() == [50, 50, 60, 60]
    assert numpy(found.boxes)[0, 3:].sum() == 0


def test_each_class_may_have_its_own_box():
    boxes = np.array([[[[0, 0, 1, 1], [2, 2, 3, 3]]]], np.float32)
    found = per_class_nms(
        boxes, np.array([[[0.3, 0.6]]], np.float32), score_above=0.1, overlap_above=0.5, candidates=2, size=2
    )
    assert numpy(found.boxes)[0].tolist() == [[2, 2, 3, 3], [0, 0, 1, 1]]


def test_nothing_above_the_threshold():
    found = per_class_nms(
        np.zeros((2, 3, 4), np.float32), np.full((2, 3, 2), 0.01, np.float32),
        score_above=0.05, overlap_above=0.5, size=4,
    )  # fmt: skip
    assert numpy(found.classes).tolist() == [[-1] * 4] * 2
    assert numpy(found.scores).sum() == 0


@pytest.mark.parametrize("seed", range(3))
def test_per_class_against_the_sequential_algorithm(seed):
    rng = np.random.default_rng(seed)
    boxes = reference.random_boxes(rng, 80)
    scores = rng.random((80, 3)).astype(np.float32)
    expected = []
    for label in range(3):
        above = np.flatnonzero(scores[:, label] > 0.2)
        kept = reference.greedy_nms(boxes[above], scores[above, label], 0.4)
        expected += [(scores[above[index], label], label, above[index]) for index in kept]
    expected = sorted(expected, reverse=True)[:30]
    found = per_class_nms(boxes[None], scores[None], score_above=0.2, overlap_above=0.4, size=30)
    np.testing.assert_allclose(numpy(found.scores)[0], [score for score, _, _ in expected])
    assert numpy(found.classes)[0].tolist() == [label for _, label, _ in expected]
    np.testing.assert_array_equal(numpy(found.boxes)[0], boxes[[index for _, _, index in expected]])


def test_first_kept_keeps_the_order():
    index, real = first_kept(np.array([[False, True, False, True, True]]), 2)
    assert numpy(index).tolist() == [[1, 3]]
    assert numpy(real).tolist() == [[True, True]]


def test_a_short_list_of_boxes_loses_no_pair():
    rng = np.random.default_rng(9)
    boxes = reference.random_boxes(rng, 400)
    scores = rng.random((400, 5)).astype(np.float32)
    short = per_class_nms(
        boxes[None], scores[None], score_above=0.2, overlap_above=0.4, candidates=60, size=60
    )
    best = np.argsort(-scores.ravel(), kind="stable")[:60]
    only_best = np.zeros(2000, np.float32)
    only_best[best] = scores.ravel()[best]
    whole = per_class_nms(
        boxes[None],
        only_best.reshape(1, 400, 5),
        score_above=0.2,
        overlap_above=0.4,
        candidates=2000,
        size=60,
    )
    for one, other in zip(short, whole, strict=True):
        np.testing.assert_array_equal(numpy(one), numpy(other))
