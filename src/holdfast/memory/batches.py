"""A batch as the pipeline sends it, for steps that are traced or tried and whose result nobody looks at."""

from __future__ import annotations

import numpy as np

from holdfast.memory.setup import Setup


def batch_of(setup: Setup, batch: int) -> dict[str, np.ndarray]:
    """A batch as the pipeline sends it, of black pictures whose every row of boxes is taken."""
    side, boxes = setup.input, setup.boxes
    corners = np.linspace(0, side / 2, boxes, dtype=np.float32)[None, :, None].repeat(batch, axis=0)
    found = {
        "images": np.zeros((batch, side, side, 3), np.uint8),
        "boxes": np.concatenate([corners, corners, corners + side / 4, corners + side / 4], axis=-1),
        "labels": np.zeros((batch, boxes), np.int32),
        "real": np.ones((batch, boxes), bool),
        "crowd": np.zeros((batch, boxes), bool),
        "image": np.arange(batch, dtype=np.int32),
    }
    if setup.changes_colour:
        found["colour"] = np.tile(np.array([[0.0, 1.0, 1.0, 0.0]], np.float32), (batch, 1))
    return found
