import numpy as np
import pytest
from keras import ops

from holdfast.detectors.ops.roi_align import level_of, roi_align
from tests.detectors import detector_reference as reference

pytestmark = pytest.mark.hot


def test_a_ramp_gives_the_bin_centres():
    # a feature equal to its own x position in input pixels: RoIAlign must read off the bins' centres
    ramp = np.broadcast_to(((np.arange(16) + 0.5) * 4)[None, None, :, None], (1, 16, 16, 1)).astype(
        np.float32
    )
    box = np.array([[[8, 8, 36, 36]]], np.float32)
    found = ops.convert_to_numpy(roi_align([ramp], [(4, 4)], box, np.zeros((1, 1), np.int32)))
    np.testing.assert_allclose(found[0, 0, 3, :, 0], 8 + (np.arange(7) + 0.5) * 4, atol=1e-4)


def test_against_loops_on_three_levels():
    rng = np.random.default_rng(2)
    strides = [(4.0, 4.0), (8.0, 8.0), (96 / 7, 16.0)]
    features = [rng.normal(size=(2, *size, 3)).astype(np.float32) for size in ((24, 32), (12, 16), (7, 8))]
    boxes = np.stack([reference.random_boxes(rng, 9, 96.0) for _ in range(2)])
    levels = rng.integers(0, 3, (2, 9)).astype(np.int32)
    found = ops.convert_to_numpy(roi_align(features, strides, boxes, levels, size=3, samples=2))
    for image in range(2):
        for region in range(9):
            level = levels[image, region]
            expected = reference.roi_align(
                features[level][image].astype(np.float64), boxes[image, region], strides[level], 3, 2
            )
            np.testing.assert_allclose(found[image, region], expected, atol=1e-4)


def test_levels_by_hand():
    boxes = np.array(
        [[0, 0, 224, 224], [0, 0, 112, 112], [0, 0, 223, 223], [0, 0, 10, 10], [0, 0, 2000, 2000]], np.float32
    )
    found = ops.convert_to_numpy(level_of(boxes, 4, canonical_level=2))
    assert found.tolist() == [2, 1, 1, 0, 3]
