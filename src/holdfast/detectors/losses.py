"""Losses, one number an element: whoever calls them sums over an image and divides by its own count.

All take and give float32, whatever the precision of the model.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import keras
from keras import ops

from holdfast.detectors.boxes import area, intersection

Tensor = Any


def focal(logits: Tensor, targets: Tensor, alpha: float = 0.25, gamma: float = 2.0) -> Tensor:
    """Focal loss (Lin et al. 2017, equation 5) of independent classes; `targets` are 0 or 1.

    With z = logit for a target of 1 and -logit for 0: p_t = sigmoid(z), so -log p_t = softplus(-z) and
    (1 - p_t)^gamma = exp(-gamma softplus(z)): no difference of near-equal numbers, no power of zero.
    """
    signed = logits * (2.0 * targets - 1.0)
    balance = alpha * targets + (1.0 - alpha) * (1.0 - targets)
    return balance * ops.exp(-gamma * ops.softplus(signed)) * ops.softplus(-signed)


def focal_sum(logits_bac: Tensor, label_ba: Tensor, counts_ba: Tensor, kept: str = "float32") -> Tensor:
    """The focal loss of an image's anchors that count, all classes together: (b,). A label of -1 is background.

    `kept` is the type in which JAX keeps the gradient until it is asked for; TensorFlow works it out then.
    """
    if keras.backend.backend() == "jax":
        return _jax_focal_sum()(logits_bac, label_ba, counts_ba, kept)
    return _focal_sum(logits_bac, label_ba, counts_ba)


def _focal_sum(logits: Tensor, label: Tensor, counts: Tensor) -> Tensor:
    wanted = ops.one_hot(label, logits.shape[-1], dtype="float32")
    return ops.sum(ops.where(counts, ops.sum(focal(logits, wanted), axis=-1), 0.0), axis=1)


@cache
def _jax_focal_sum() -> Any:
    """Loss and gradient in one pass over the logits. Left to itself XLA keeps three numbers for every class of every
    anchor from the forward pass to the backward; the gradient is one, and of the features' own precision."""
    import jax

    def forward(logits: Tensor, label: Tensor, counts: Tensor, kept: str) -> tuple[Tensor, Tensor]:
        return _focal_sum(logits, label, counts), ops.cast(_focal_slope(logits, label, counts), kept)

    def backward(kept: str, slope: Tensor, gradient: Tensor) -> tuple[Tensor, None, None]:
        return gradient[:, None, None] * ops.cast(slope, "float32"), None, None

    function = jax.custom_vjp(lambda logits, label, counts, kept: _focal_sum(logits, label, counts), (3,))
    function.defvjp(forward, backward)
    return function


def _focal_slope(
    logits: Tensor, label: Tensor, counts: Tensor, alpha: float = 0.25, gamma: float = 2.0
) -> Tensor:
    """The derivative of `focal`: with p_t = sigmoid(z), -(1 - p_t)^gamma (gamma p_t (-log p_t) + 1 - p_t) by z."""
    targets = ops.one_hot(label, logits.shape[-1], dtype="float32")
    sign = 2.0 * targets - 1.0
    signed = logits * sign
    balance = alpha * targets + (1.0 - alpha) * (1.0 - targets)
    sure, surprise = ops.sigmoid(signed), ops.softplus(-signed)
    weight = balance * ops.exp(-gamma * ops.softplus(signed))
    return ops.where(counts[..., None], -sign * weight * (gamma * sure * surprise + 1.0 - sure), 0.0)


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


def prior_bias(probability: float) -> float:
    """The bias at which a sigmoid gives `probability` (Lin et al. 2017, section 4.1)."""
    return -math.log((1.0 - probability) / probability)


def background_bias(class_probability: float, classes: int) -> float:
    """The bias of a softmax's background at which each of the other classes gets `class_probability`.

    With very many classes they share at most half of the probability.
    """
    each = min(class_probability, 0.5 / classes)
    return math.log((1.0 - classes * each) / each)
