import numpy as np
import pytest
from keras import ops

from holdfast.detectors.anchors.balanced_sampler import sample, uniform
from holdfast.detectors.ops.losses import hardest_negatives
from tests.detectors import detector_reference as reference

pytestmark = pytest.mark.hot


def numpy(tensor):
    return np.asarray(ops.convert_to_numpy(tensor))


def test_the_hardest_three_for_one():
    loss = np.array([[0.1, 0.9, 0.5, 0.7, 0.3, 0.8]], np.float32)
    negative = np.array([[True, False, True, True, True, True]])
    found = hardest_negatives(loss, negative, np.array([1]))
    assert numpy(found).tolist() == [[False, False, True, True, False, True]]


def test_an_image_without_boxes_trains_three_negatives_lower_index_first():
    loss = np.full((1, 6), 0.25, np.float32)
    found = hardest_negatives(loss, np.ones((1, 6), bool), np.array([0]))
    assert numpy(found).tolist() == [[True, True, True, False, False, False]]


def test_more_wanted_than_there_are():
    found = hardest_negatives(
        np.ones((1, 4), np.float32), np.array([[True, True, False, False]]), np.array([9])
    )
    assert numpy(found).tolist() == [[True, True, False, False]]


def test_the_numbers_are_the_published_hash():
    found = numpy(uniform(np.array([7, 2_000_000_000], np.int32), 5))
    for row, seed in enumerate((7, 2_000_000_000)):
        key = reference.lowbias32(seed)
        expected = [(reference.lowbias32((i + 0x9E3779B9 & 0xFFFFFFFF) ^ key) >> 8) / 2**24 for i in range(5)]
        assert found[row].tolist() == expected


def test_the_numbers_are_even():
    found = numpy(uniform(np.arange(50), 1000))
    counts, _ = np.histogram(found, bins=10, range=(0, 1))
    assert abs(counts - 5000).max() < 300  # 4.5 standard deviations of a fair draw
    assert abs(np.corrcoef(found[0], found[1])[0, 1]) < 0.15


def test_counts_and_shares():
    positive = np.zeros((2, 100), bool)
    positive[0, :60] = True
    positive[1, :4] = True
    negative = ~positive
    negative[:, 90:] = False
    found = sample(positive, negative, np.array([1, 2]), size=20, positive_share=0.5)
    index, is_positive, chosen = (numpy(part) for part in found)
    assert chosen.sum(1).tolist() == [20, 20]
    assert is_positive.sum(1).tolist() == [10, 4]
    for image in (0, 1):
        picked = index[image][chosen[image]]
        assert len(set(picked.tolist())) == 20
        assert (picked < 90).all()
        assert positive[image][index[image][is_positive[image]]].all()


def test_an_image_draws_the_same_whatever_its_batch():
    rng = np.random.default_rng(0)
    positive = rng.random((4, 200)) < 0.1
    seeds = np.array([5, 6, 7, 8])
    together = sample(positive, ~positive, seeds, size=32, positive_share=0.25)
    for image in range(4):
        alone = sample(
            positive[image : image + 1], ~positive[image : image + 1], seeds[image : image + 1],
            size=32, positive_share=0.25,
        )  # fmt: skip
        np.testing.assert_array_equal(numpy(alone.index)[0], numpy(together.index)[image])
        np.testing.assert_array_equal(numpy(alone.chosen)[0], numpy(together.chosen)[image])


def test_too_few_candidates_leave_padding():
    positive = np.array([[True, False, False]])
    found = sample(positive, ~positive, np.array([0]), size=8, positive_share=0.5)
    assert numpy(found.chosen).sum() == 3
