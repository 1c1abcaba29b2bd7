"""Losses, one number an element: whoever calls them sums over an image and divides by its own count.

All take and give float32, whatever the precision of the model.
"""

from __future__ import annotations

import math
from functools import cache, partial
from typing import Any

import keras
from keras import ops

from holdfast.detectors.ops.boxes import area, decode, encode, intersection

Tensor = Any


def focal(logits: Tensor, targets: Tensor, alpha: float = 0.25, gamma: float = 2.0) -> Tensor:
    """Focal loss (Lin et al. 2017, equation 5) of independent classes; `targets` are 0 or 1.

    With z = logit for a target of 1 and -logit for 0: p_t = sigmoid(z), so -log p_t = softplus(-z) and
    (1 - p_t)^gamma = exp(-gamma softplus(z)): no difference of near-equal numbers, no power of zero.
    """
    signed = logits * (2.0 * targets - 1.0)
    balance = alpha * targets + (1.0 - alpha) * (1.0 - targets)
    return balance * ops.exp(-gamma * ops.softplus(signed)) * ops.softplus(-signed)


def focal_sum(
    outputs_bnk: Tensor, bias_k: Tensor, label_ba: Tensor, counts_ba: Tensor, classes: int
) -> Tensor:
    """The focal loss of an image's anchors that count, all classes together: (b,). A label of -1 is background.

    `outputs` are a head's, anchors by classes in a cell, in the features' precision; logits with the bias, in float32.
    """
    if keras.backend.backend() == "jax":
        label = ops.where(counts_ba, label_ba, -2)
        return _jax_focal_sum()(outputs_bnk, ops.cast(bias_k, "float32"), label, classes)
    wanted = ops.one_hot(label_ba, classes, dtype="float32")
    logits = ops.cast(outputs_bnk, "float32") + ops.cast(bias_k, "float32")
    each = ops.sum(focal(ops.reshape(logits, (-1, label_ba.shape[1], classes)), wanted), axis=-1)
    return ops.sum(ops.where(counts_ba, each, 0.0), axis=1)


@cache
def _jax_focal_sum() -> Any:
    """Loss and gradient in one pass over the outputs. Left to itself XLA keeps three numbers for every class of every
    anchor from the forward pass to the backward; the gradient is one, and of the features' own precision."""
    import jax

    from holdfast.detectors.ops import pallas_kernels

    def both(outputs: Tensor, bias: Tensor, label: Tensor, classes: int) -> tuple[Tensor, Tensor, Tensor]:
        plain = partial(_focal_in_turn, classes)
        how = pallas_kernels.focal_tiles(outputs.shape, classes)
        if how is None:
            return plain(outputs, bias, label)
        kernel = partial(pallas_kernels.focal, how)
        found: tuple[Tensor, Tensor, Tensor] = pallas_kernels.select_kernel(
            outputs, kernel, plain, outputs, bias, label
        )
        return found

    def value(outputs: Tensor, bias: Tensor, label: Tensor, classes: int) -> Tensor:
        return both(outputs, bias, label, classes)[0]

    def forward(outputs: Tensor, bias: Tensor, label: Tensor, classes: int) -> tuple[Tensor, Any]:
        loss, slope, total = both(outputs, bias, label, classes)
        return loss, (slope, total, outputs[:0])

    def backward(classes: int, kept: Any, gradient: Tensor) -> tuple[Tensor, Tensor, None]:
        slope, total, like = kept
        scaled = gradient[:, None, None] * ops.cast(slope, "float32")
        return ops.cast(scaled, like.dtype), ops.matmul(gradient, total), None

    function = jax.custom_vjp(value, (3,))
    function.defvjp(forward, backward)
    return function


def _focal_in_turn(
    classes: int, outputs: Tensor, bias: Tensor, label: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    from holdfast.detectors.ops.pallas_kernels import focal_and_slope

    logits = ops.reshape(ops.cast(outputs, "float32") + bias, (*label.shape, classes))
    hit = ops.equal(label[..., None], ops.arange(classes, dtype="int32"))
    loss, slope = (ops.where(label[..., None] >= -1, one, 0.0) for one in focal_and_slope(logits, hit))
    slope = ops.reshape(slope, outputs.shape)
    kept = (
        "bfloat16" if outputs.dtype == "bfloat16" else "float32"
    )  # halves that short would not reach so far down
    return ops.sum(loss, axis=(1, 2)), ops.cast(slope, kept), ops.sum(slope, axis=1)


def binary_cross_entropy(logits: Tensor, targets: Tensor) -> Tensor:
    return ops.softplus(-logits * (2.0 * targets - 1.0))


def softmax_cross_entropy(logits: Tensor, labels: Tensor) -> Tensor:
    """-log softmax(logits)[label] over the last axis; a label outside the range picks nothing."""
    picked = ops.sum(logits * ops.one_hot(labels, logits.shape[-1], dtype="float32"), axis=-1)
    return ops.logsumexp(logits, axis=-1) - picked


def smooth_l1(predicted: Tensor, target: Tensor, beta: float = 1.0) -> Tensor:
    """Squared below `beta`, linear above, joined without a step (Girshick 2015, equation 3)."""
    off = ops.abs(predicted - target)
    return ops.where(off < beta, 0.5 * off * off / beta, off - 0.5 * beta)


def giou_loss(predicted: Tensor, target: Tensor) -> Tensor:
    """1 - generalised IoU (Rezatofighi et al. 2019) of boxes paired element by element: 0 to 2."""
    hull_sides = ops.maximum(
        ops.maximum(predicted[..., 2:], target[..., 2:]) - ops.minimum(predicted[..., :2], target[..., :2]),
        0.0,
    )
    shared = intersection(predicted, target)
    hull = hull_sides[..., 0] * hull_sides[..., 1]
    union = area(predicted) + area(target) - shared
    giou = shared / ops.maximum(union, 1e-7) - (hull - union) / ops.maximum(hull, 1e-7)
    return 1.0 - giou


def box_loss(
    offsets: Tensor, boxes: Tensor, anchors: Tensor, weights: tuple[float, ...], *, kind: str, beta: float
) -> Tensor:
    """One number an anchor: smooth L1 over the four offsets, or 1 - generalised IoU of the decoded box."""
    if kind == "giou":
        return giou_loss(decode(offsets, anchors, weights), boxes)
    return ops.sum(smooth_l1(offsets, encode(boxes, anchors, weights), beta), axis=-1)


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


def prior_bias(probability: float) -> float:
    """The bias at which a sigmoid gives `probability` (Lin et al. 2017, section 4.1)."""
    return -math.log((1.0 - probability) / probability)


def background_bias(class_probability: float, classes: int) -> float:
    """The bias of a softmax's background at which each of the other classes gets `class_probability`.

    With very many classes they share at most half of the probability.
    """
    each = min(class_probability, 0.5 / classes)
    return math.log((1.0 - classes * each) / each)
