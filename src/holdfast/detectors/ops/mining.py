"""Hard negatives: of the many anchors on background, train those that are most wrong."""

from __future__ import annotations

from typing import Any

from keras import ops

Tensor = Any


def hardest_negatives(
    loss_ba: Tensor, negative_ba: Tensor, positives_b: Tensor, *, ratio: float = 3.0, at_least: int = 3
) -> Tensor:
    """A mask of the `ratio` x positives negatives with the largest loss, by image (Liu et al. 2016, 2.2).

    An image without boxes has no positives and would teach nothing; it trains `at_least` negatives, as
    an image with one box does. Of equal losses the lower index is taken.
    """
    wanted = ops.maximum(ops.cast(positives_b, "float32") * ratio, float(at_least))
    ordered = ops.argsort(ops.where(negative_ba, -loss_ba, float("inf")), axis=-1)
    rank = ops.cast(ops.argsort(ordered, axis=-1), "float32")
    return ops.logical_and(negative_ba, rank < wanted[:, None])
