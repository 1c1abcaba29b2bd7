"""One optimizer update as a pure function of keras.ops: clip, decay, step, average, or leave all as it was.

Both backends compile the same lines. Nothing is assigned here: the step gets the whole new state at once,
so an update that runs out of memory half way has changed nothing, and one that is not finite is undone by
taking the old state. AdamW and SGD are Keras' own arithmetic (a test compares them); Keras' classes assign
to variables on TensorFlow, which could not be undone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from keras import ops

Tensor = Any

BETA_1, BETA_2, EPSILON = 0.9, 0.999, 1e-7  # Kingma & Ba 2015; epsilon as Keras has it
MOMENTUM = 0.9
LARGEST_SCALE, SMALLEST_SCALE = 2.0**24, 1.0
GROW_AFTER = 2000  # good steps before the loss scale is tried at twice its size (Micikevicius et al. 2018)


@dataclass(frozen=True, slots=True)
class Rule:
    """How an update is made. `tolerated` steps may be not finite before every later one is left out too."""

    optimizer: str = "adamw"  # or sgd
    weight_decay: float = 0.0
    clip_norm: float | None = None
    ema: float | None = None
    loss_scaling: bool = False
    tolerated: int = 0


class Moving(NamedTuple):
    """Everything that an update changes. Lists are in the order of the trainable variables."""

    weights: list[Tensor]
    first: list[Tensor]  # Adam's first moments, or SGD's momentum
    second: list[Tensor]  # Adam's second moments; empty for SGD
    average: list[Tensor]  # the EMA of the weights; empty without
    count: Tensor  # updates applied, int32
    scale: Tensor  # of the loss, float32
    good: Tensor  # steps since the scale last changed, int32
    unapplied: Tensor  # steps that were not finite, int32


class Facts(NamedTuple):
    gradient_norm: Tensor  # before clipping
    norms: Tensor  # of each variable's gradient: read only when something is wrong
    finite: Tensor
    applied: Tensor


def fresh(weights: Sequence[Tensor], rule: Rule) -> Moving:
    zeros = [ops.zeros_like(weight) for weight in weights]
    return Moving(
        weights=list(weights),
        first=zeros,
        second=[ops.zeros_like(weight) for weight in weights] if rule.optimizer == "adamw" else [],
        average=[ops.copy(weight) for weight in weights] if rule.ema else [],
        count=ops.cast(0, "int32"),
        scale=ops.cast(2.0**15 if rule.loss_scaling else 1.0, "float32"),
        good=ops.cast(0, "int32"),
        unapplied=ops.cast(0, "int32"),
    )


def advance(
    now: Moving,
    scaled_gradients: Sequence[Tensor],
    loss: Tensor,
    rate: Tensor,
    held: Sequence[Tensor],
    rule: Rule,
) -> tuple[Moving, Facts]:
    """The state after one update. `held` says for each weight whether it is to stay as it is (bool tensors)."""
    gradients = [ops.cast(gradient, "float32") / now.scale for gradient in scaled_gradients]
    gradients = [ops.where(hold, 0.0, one) for hold, one in zip(held, gradients, strict=True)]
    squares = ops.stack([ops.sum(ops.square(one)) for one in gradients])
    norm = ops.sqrt(ops.sum(squares))
    finite = ops.logical_and(ops.isfinite(norm), ops.isfinite(loss))
    overflow = ops.logical_and(ops.logical_not(finite), now.scale > SMALLEST_SCALE)
    bad = ops.logical_and(ops.logical_not(finite), ops.logical_not(overflow))
    applied = ops.logical_and(finite, now.unapplied <= rule.tolerated)
    if rule.clip_norm is not None:
        share = ops.minimum(1.0, rule.clip_norm / ops.maximum(norm, 1e-12))
        gradients = [one * share for one in gradients]
    new = _stepped(now, gradients, rate, held, rule)
    kept = Moving(*(_chosen(applied, after, before) for after, before in zip(new, now, strict=True)))
    kept = kept._replace(unapplied=now.unapplied + ops.cast(bad, "int32"))
    if rule.loss_scaling:
        kept = _rescaled(kept, now, finite)
    return kept, Facts(norm, ops.sqrt(squares), finite, applied)


def _stepped(
    now: Moving, gradients: list[Tensor], rate: Tensor, held: Sequence[Tensor], rule: Rule
) -> Moving:
    count = now.count + 1
    moved = _adam if rule.optimizer == "adamw" else _momentum
    decayed = [_decayed(weight, rate, rule) for weight in now.weights]
    weights, first, second = moved(now._replace(weights=decayed), gradients, rate, count)
    weights = [ops.where(hold, old, one) for hold, old, one in zip(held, now.weights, weights, strict=True)]
    average = now.average
    if rule.ema:
        age = ops.cast(count, "float32")
        decay = ops.minimum(rule.ema, (1.0 + age) / (10.0 + age))  # young averages forget their random start
        average = [old + (one - old) * (1.0 - decay) for old, one in zip(now.average, weights, strict=True)]
    return now._replace(weights=weights, first=first, second=second, average=average, count=count)


def _decayed(weight: Tensor, rate: Tensor, rule: Rule) -> Tensor:
    """Decoupled decay (Loshchilov & Hutter 2019); biases and the scales of normalisations are left alone."""
    return (
        weight - weight * rule.weight_decay * rate if rule.weight_decay and len(weight.shape) > 1 else weight
    )


def _adam(now: Moving, gradients: list[Tensor], rate: Tensor, count: Tensor) -> tuple[list[Tensor], ...]:
    age = ops.cast(count, "float32")
    alpha = rate * ops.sqrt(1.0 - ops.power(BETA_2, age)) / (1.0 - ops.power(BETA_1, age))
    first = [m + (g - m) * (1 - BETA_1) for m, g in zip(now.first, gradients, strict=True)]
    second = [v + (ops.square(g) - v) * (1 - BETA_2) for v, g in zip(now.second, gradients, strict=True)]
    weights = [
        weight - m * alpha / (ops.sqrt(v) + EPSILON)
        for weight, m, v in zip(now.weights, first, second, strict=True)
    ]
    return weights, first, second


def _momentum(now: Moving, gradients: list[Tensor], rate: Tensor, count: Tensor) -> tuple[list[Tensor], ...]:
    first = [m * MOMENTUM - g * rate for m, g in zip(now.first, gradients, strict=True)]
    return [weight + m for weight, m in zip(now.weights, first, strict=True)], first, []


def _chosen(applied: Tensor, after: Any, before: Any) -> Any:
    if isinstance(after, list):
        return [ops.where(applied, new, old) for new, old in zip(after, before, strict=True)]
    return ops.where(applied, after, before)


def _rescaled(kept: Moving, now: Moving, finite: Tensor) -> Moving:
    """Half after an overflow; twice after GROW_AFTER good steps."""
    good = ops.where(finite, now.good + 1, 0)
    grown = good >= GROW_AFTER
    scale = ops.where(grown, ops.minimum(now.scale * 2.0, LARGEST_SCALE), now.scale)
    scale = ops.where(finite, scale, ops.maximum(now.scale * 0.5, SMALLEST_SCALE))
    return kept._replace(scale=scale, good=ops.where(grown, 0, good))
