"""How much pixels change across the sides of boxes."""

from __future__ import annotations

import numpy as np

from holdfast.data.pixels.edge_support import EdgeMap

from .scenes import look


def test_boxes_on_objects_and_beside_them() -> None:
    one = look(3)
    edges = EdgeMap(one.pixels)
    beside = one.boxes + np.array([9, 9, 9, 9])
    assert edges.mean_support(one.boxes) > 1.5 * edges.mean_support(beside)


def test_what_cannot_be_looked_at() -> None:
    edges = EdgeMap(np.full((60, 80, 3), 90, np.uint8))
    assert np.isnan(edges.support(np.array([[10.0, 10, 12, 40], [60, 10, 99, 30], [0, 0, 80, 60]]))).all()
    assert np.isnan(edges.mean_support(np.zeros((0, 4))))
