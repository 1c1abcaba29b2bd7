"""What a detector learns from: one batch, of fixed shape, and the pieces of a loss."""

from __future__ import annotations

from typing import Any, TypedDict

from keras import ops

from holdfast.detectors.ops.batched_gather import gather_rows

Tensor = Any


class Batch(TypedDict, total=False):
    """`n` is the same for every batch of a run; what is not `real` is padding.

    `seeds` decide the random samples of Faster R-CNN: one whole number an image, different in every step, the
    same whatever micro-batch the image is computed in (`sampling.seeds_for`).
    """

    images: Tensor  # (b, h, w, 3), uint8 or float, 0 to 255
    boxes: Tensor  # (b, n, 4), x1 y1 x2 y2 in pixels of the input
    labels: Tensor  # (b, n), the class, from 0
    real: Tensor  # (b, n), bool
    crowd: Tensor  # (b, n), bool
    seeds: Tensor  # (b,), int32
    image: Tensor  # (b,), the number of the image in its dataset


def total_loss(losses: dict[str, Tensor]) -> Tensor:
    """The number to minimise: the sum of the parts, the mean over images.

    Every part is one number an image that no other image enters, so the mean over a batch is the mean of the
    means over its equal micro-batches, and so is the gradient.
    """
    return ops.mean(ops.sum(ops.stack(list(losses.values())), axis=0))


def box_targets(batch: Batch, box_index_ba: Tensor) -> tuple[Tensor, Tensor]:
    """The box and the class that each anchor answers for, by the matched index."""
    return gather_rows(batch["boxes"], box_index_ba), gather_rows(
        ops.cast(batch["labels"], "int32"), box_index_ba
    )


def sum_per_image(values_ba: Tensor, wanted_ba: Tensor) -> Tensor:
    """The sum over the wanted; what is not wanted adds nothing, were it infinite."""
    return ops.sum(ops.where(wanted_ba, values_ba, 0.0), axis=1)


def count(mask_ba: Tensor) -> Tensor:
    return ops.sum(ops.cast(mask_ba, "float32"), axis=1)
