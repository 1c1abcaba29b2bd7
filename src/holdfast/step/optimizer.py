"""One optimizer update as a pure function of keras.ops: clip, decay, step, average, or leave all as it was.

Both backends compile the same lines. Nothing is assigned here: the step gets the whole new state at once,
so an update that runs out of memory half way has changed nothing, and one that is not finite is undone by
taking the old state. AdamW and SGD are Keras' own arithmetic (a test compares them); Keras' classes assign
to variables on TensorFlow, which could not be undone.

All weights together are one long vector: a few dozen operations, not dozens for each of hundreds of variables,
which would take longer to trace than the network itself.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from keras import ops

Tensor = Any

BETA_1, BETA_2, EPSILON = 0.9, 0.999, 1e-7  # Kingma & Ba 2015; epsilon as Keras has it
MOMENTUM = 0.9
FIRST_SCALE, LARGEST_SCALE, SMALLEST_SCALE = 2.0**15, 2.0**24, 1.0
GROW_AFTER = 2000  # good steps before the loss scale is tried at twice its size (Micikevicius et al. 2018)


@dataclass(frozen=True, slots=True)
class OptimizerConfig:
    """How an update is made. `tolerated` steps may be not finite before every later one is left out too."""

    optimizer: str = "adamw"  # or sgd
    weight_decay: float = 0.0
    clip_norm: float | None = None
    ema: float | None = None
    loss_scaling: bool = False
    tolerated: int = 0
    held_rate: float = 1.0  # times the rate, for what can be held


class OptimizerState(NamedTuple):
    """Everything that an update changes. Each vector holds all trainable weights, one variable after the other."""

    weights: Tensor
    first: Tensor  # Adam's first moments, or SGD's momentum
    second: Tensor  # Adam's second moments; empty for SGD
    average: Tensor  # the EMA of the weights; empty without
    count: Tensor  # updates applied, int32
    scale: Tensor  # of the loss, float32
    good: Tensor  # steps since the scale last changed, int32
    unapplied: Tensor  # steps that were not finite, int32


class UpdateStats(NamedTuple):
    gradient_norm: Tensor  # before clipping
    squares: Tensor  # of the gradient, each: read only when something is wrong
    finite: Tensor
    applied: Tensor


class Masks(NamedTuple):
    """One number a weight. Arrays on the device, handed to the step: as constants they would bloat its graph."""

    decays: Tensor  # 1, or 0 for biases and the scales of normalisations, which are vectors
    holds: Tensor  # 1 for what stays as it is while the first steps are made


@dataclass(frozen=True)
class Layout:
    """Where each variable lies in the vectors, and which of them can be held as they are."""

    shapes: tuple[tuple[int, ...], ...]
    holdable: tuple[bool, ...]

    @property
    def sizes(self) -> list[int]:
        return [math.prod(shape) for shape in self.shapes]

    def masks(self) -> Masks:
        decays = [len(shape) > 1 for shape in self.shapes]
        return Masks(
            np.repeat(np.asarray(decays, np.float32), self.sizes),
            np.repeat(np.asarray(self.holdable, np.float32), self.sizes),
        )

    def joined(self, values: Sequence[Tensor]) -> Tensor:
        return ops.concatenate([ops.reshape(ops.cast(value, "float32"), (-1,)) for value in values])

    def parted(self, vector: Tensor) -> list[Tensor]:
        return [
            ops.reshape(part, shape)
            for part, shape in zip(ops.split(vector, self._edges), self.shapes, strict=True)
        ]

    def parted_on_host(self, vector: Any) -> list[np.ndarray]:
        """The same of a numpy vector; none of an empty one."""
        if not vector.size:
            return []
        return [
            part.reshape(shape)
            for part, shape in zip(np.split(vector, self._edges), self.shapes, strict=True)
        ]

    @property
    def _edges(self) -> list[int]:
        return [int(edge) for edge in np.cumsum(self.sizes)[:-1]]


def initial_state(weights: Tensor, rule: OptimizerConfig) -> OptimizerState:
    nothing = ops.zeros((0,), "float32")
    return OptimizerState(
        weights=weights,
        first=ops.zeros_like(weights),
        second=ops.zeros_like(weights) if rule.optimizer == "adamw" else nothing,
        average=ops.copy(weights) if rule.ema else nothing,
        count=ops.cast(0, "int32"),
        scale=ops.cast(FIRST_SCALE if rule.loss_scaling else 1.0, "float32"),
        good=ops.cast(0, "int32"),
        unapplied=ops.cast(0, "int32"),
    )


def apply_update(
    now: OptimizerState,
    scaled_gradient: Tensor,
    loss: Tensor,
    rate: Tensor,
    held: Tensor,
    masks: Masks,
    rule: OptimizerConfig,
) -> tuple[OptimizerState, UpdateStats]:
    """The state after one update. While `held`, the variables that can be held stay as they are; their moments are
    kept all the same, or Adam would take them for old and empty ones when they are let go, and leap."""
    moves = 1.0 - ops.cast(held, "float32") * masks.holds
    gradient = scaled_gradient / now.scale
    squares = ops.square(gradient)
    norm = ops.sqrt(ops.sum(squares * moves))  # of what moves; not finite, wherever it is not
    finite = ops.logical_and(ops.isfinite(norm), ops.isfinite(loss))
    # The scale is on the gradient alone: a loss that is not finite is the network's or the data's.
    scaled_too_far = ops.logical_and(ops.isfinite(loss), now.scale > SMALLEST_SCALE)
    overflow = ops.logical_and(ops.logical_not(finite), scaled_too_far)
    bad = ops.logical_and(ops.logical_not(finite), ops.logical_not(overflow))
    applied = ops.logical_and(finite, now.unapplied <= rule.tolerated)
    if rule.clip_norm is not None:
        gradient = gradient * ops.minimum(1.0, rule.clip_norm / ops.maximum(norm, 1e-12))
    rates = rate * moves
    if rule.held_rate != 1.0:
        rates = rates * (1.0 - masks.holds * (1.0 - rule.held_rate))
    new = _optimizer_step(now, gradient, rates, moves, masks, rule)
    kept = OptimizerState(
        *(ops.where(applied, after, before) for after, before in zip(new, now, strict=True))
    )
    kept = kept._replace(unapplied=now.unapplied + ops.cast(bad, "int32"))
    if rule.loss_scaling:
        kept = _update_loss_scale(kept, now, finite, overflow)
    return kept, UpdateStats(norm, squares, finite, applied)


def _optimizer_step(
    now: OptimizerState, gradient: Tensor, rate: Tensor, moves: Tensor, masks: Masks, rule: OptimizerConfig
) -> OptimizerState:
    """`rate` is each weight's own; zero for those that are held: neither the step nor the decay moves them then."""
    count = now.count + 1
    weights = now.weights
    if rule.weight_decay:  # decoupled (Loshchilov & Hutter 2019)
        weights = weights - weights * (masks.decays * rule.weight_decay) * rate
    moved = _adam if rule.optimizer == "adamw" else _momentum
    weights, first, second = moved(now._replace(weights=weights), gradient, rate, moves, count)
    average = now.average
    if rule.ema:
        age = ops.cast(count, "float32")
        decay = ops.minimum(rule.ema, (1.0 + age) / (10.0 + age))  # young averages forget their random start
        average = average + (weights - average) * (1.0 - decay)
    return now._replace(weights=weights, first=first, second=second, average=average, count=count)


def _adam(
    now: OptimizerState, gradient: Tensor, rate: Tensor, moves: Tensor, count: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    age = ops.cast(count, "float32")
    alpha = rate * ops.sqrt(1.0 - ops.power(BETA_2, age)) / (1.0 - ops.power(BETA_1, age))
    first = now.first + (gradient - now.first) * (1 - BETA_1)
    second = now.second + (ops.square(gradient) - now.second) * (1 - BETA_2)
    return now.weights - first * alpha / (ops.sqrt(second) + EPSILON), first, second


def _momentum(
    now: OptimizerState, gradient: Tensor, rate: Tensor, moves: Tensor, count: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    first = (
        now.first * MOMENTUM - gradient * rate
    ) * moves  # held: not even what was gathered before moves it
    return now.weights + first, first, now.second


def _update_loss_scale(
    kept: OptimizerState, now: OptimizerState, finite: Tensor, overflow: Tensor
) -> OptimizerState:
    """Half after an overflow; twice after GROW_AFTER good steps."""
    good = ops.where(finite, now.good + 1, 0)
    grown = good >= GROW_AFTER
    scale = ops.where(grown, ops.minimum(now.scale * 2.0, LARGEST_SCALE), now.scale)
    scale = ops.where(overflow, ops.maximum(now.scale * 0.5, SMALLEST_SCALE), scale)
    return kept._replace(scale=scale, good=ops.where(grown, 0, good))
