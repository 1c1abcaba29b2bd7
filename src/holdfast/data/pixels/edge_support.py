"""Do boxes lie on edges? Pixels change more across the border of an object than elsewhere in its image.

A single box proves nothing: things have edges inside, and people draw loosely. Of a hundred boxes the mean is clear:
boxes on objects have 1.1 to 4 times the change of boxes taken from other images, and boxes beside them none.
"""

from __future__ import annotations

from typing import Any

SMALLEST = 3.0  # pixels of the sides of a box that can be looked at


class EdgeMap:
    """How much the pixels of one image change across and down, summed up so that a box's side is two lookups."""

    def __init__(self, pixels: Any) -> None:
        import numpy as np

        wide = np.pad(pixels.astype(np.int16), ((1, 1), (1, 1), (0, 0)), "edge")
        across = np.abs(wide[1:-1, 1:] - wide[1:-1, :-1]).max(-1).astype(np.float32)
        down = np.abs(wide[1:, 1:-1] - wide[:-1, 1:-1]).max(-1).astype(np.float32)
        across, down = _tolerant(across), _tolerant(down.T).T
        self._across = np.concatenate((np.zeros((1, across.shape[1]), np.float32), np.cumsum(across, 0)))
        self._down = np.concatenate((np.zeros((down.shape[0], 1), np.float32), np.cumsum(down, 1)), 1)
        self.height, self.width = pixels.shape[:2]

    def support(self, boxes: Any) -> Any:
        """For boxes (..., 4) the mean change across their sides, 1 being the image's own mean.

        NaN for a box that leaves the image or is too small. A side at the image's edge says nothing, and is left out.
        """
        import numpy as np

        x1, y1, x2, y2 = (boxes[..., at] for at in range(4))
        inside = (x1 >= -1) & (y1 >= -1) & (x2 <= self.width + 1) & (y2 <= self.height + 1)
        usable = inside & (x2 - x1 >= SMALLEST) & (y2 - y1 >= SMALLEST)
        left, right = (np.clip(np.rint(x), 0, self.width).astype(np.intp) for x in (x1, x2))
        top, bottom = (np.clip(np.rint(y), 0, self.height).astype(np.intp) for y in (y1, y2))
        tall, wide = np.maximum(bottom - top, 1), np.maximum(right - left, 1)
        sides = np.stack(
            (
                (self._across[bottom, left] - self._across[top, left]) / tall,
                (self._across[bottom, right] - self._across[top, right]) / tall,
                (self._down[top, right] - self._down[top, left]) / wide,
                (self._down[bottom, right] - self._down[bottom, left]) / wide,
            ),
            -1,
        )
        within = np.stack((left > 0, right < self.width, top > 0, bottom < self.height), -1)
        total = np.where(within, sides, 0).sum(-1)
        return np.where(usable & within.any(-1), total / np.maximum(within.sum(-1), 1), np.nan)

    def mean_support(self, boxes: Any) -> Any:
        """Of all boxes that can be looked at, over the last axis but one: NaN where there is none."""
        import numpy as np

        found = self.support(boxes)
        known = np.isfinite(found)
        total = np.where(known, found, 0).sum(-1)
        return np.where(known.any(-1), total / np.maximum(known.sum(-1), 1), np.nan)


def _tolerant(change: Any) -> Any:
    """A hand is a pixel off, one wild edge counts no more than six common ones, and the mean becomes 1."""
    import numpy as np

    change[:, 0] = change[:, -1] = 0
    change = np.minimum(change, 6 * change.mean())
    wide = change.copy()
    wide[:, 1:] = np.maximum(wide[:, 1:], change[:, :-1])
    wide[:, :-1] = np.maximum(wide[:, :-1], change[:, 1:])
    return wide / max(float(wide.mean()), 1e-3)
