import numpy as np
import pytest

from holdfast.detectors.anchors import grid


def test_grid_by_hand():
    found = grid.grid((1, 2), (8, 16), [(4, 2), (8, 8)])
    expected = [[2, 3, 6, 5], [0, 0, 8, 8], [10, 3, 14, 5], [8, 0, 16, 8]]
    np.testing.assert_array_equal(found, expected)


def test_ssd300_has_the_papers_8732_boxes():
    shapes = grid.ssd_shapes(grid.SSD300_SCALES, grid.SSD300_RATIOS, (300, 300))
    sizes = [(38, 38), (19, 19), (10, 10), (5, 5), (3, 3), (1, 1)]
    found = grid.all_levels(sizes, (300, 300), shapes)
    assert found.shape == (8732, 4)
    # first cell of conv4_3: centre 150/38; side 21; then sqrt(21 * 45)
    np.testing.assert_allclose(
        found[0], [3.947368 - 10.5, 3.947368 - 10.5, 3.947368 + 10.5, 3.947368 + 10.5], atol=1e-4
    )
    np.testing.assert_allclose(found[1][2] - found[1][0], 30.740852, atol=1e-4)
    # ratio 2: 21 * sqrt(2) wide, 21 / sqrt(2) high, then the other way
    np.testing.assert_allclose(found[2][2:] - found[2][:2], [29.698485, 14.849242], atol=1e-4)
    np.testing.assert_allclose(found[3][2:] - found[3][:2], [14.849242, 29.698485], atol=1e-4)


def test_ssd512_has_24564_boxes():
    shapes = grid.ssd_shapes(grid.SSD512_SCALES, grid.SSD512_RATIOS, (512, 512))
    sizes = [(64, 64), (32, 32), (16, 16), (8, 8), (4, 4), (2, 2), (1, 1)]
    assert len(grid.all_levels(sizes, (512, 512), shapes)) == 24564


def test_retinanet_shapes_by_hand():
    (level,) = grid.pyramid_shapes([32.0], octaves=3)
    assert len(level) == 9
    np.testing.assert_allclose(level[0], (45.254834, 22.627417), rtol=1e-6)  # ratio 0.5: wide
    np.testing.assert_allclose(level[1], (32, 32))
    np.testing.assert_allclose(level[4], (40.317474, 40.317474), rtol=1e-6)  # 32 * 2^(1/3)
    assert all(abs(w * h - 32 * 32) < 1e-6 for w, h in level[:3])


def test_spread_scales_are_equation_4():
    np.testing.assert_allclose(grid.spread_scales(6), [0.2, 0.35, 0.5, 0.65, 0.8, 0.95, 1.0])


def test_levels_that_disagree_are_refused():
    with pytest.raises(ValueError, match="1 levels of features, 2 levels of anchors"):
        grid.all_levels([(1, 1)], (8, 8), grid.pyramid_shapes([8, 16]))
