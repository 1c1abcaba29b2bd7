"""One optimizer update as a pure function of keras.ops: clip, decay, step, EMA; or no change at all.

Both backends compile the same lines. Nothing is assigned here: the step gets the complete new state at once,
so an update that runs out of memory half way has changed nothing, and one that is not finite is undone by
taking the old state. AdamW and SGD compute what Keras computes (a test compares them); Keras' own classes assign
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
GROW_AFTER = 2000  # finite steps before the loss scale is doubled (Micikevicius et al. 2018)


@dataclass(frozen=True, slots=True)
class OptimizerConfig:
    """How an update is made. After more than `tolerated` steps that were not finite, no step is applied."""

    optimizer: str = "adamw"  # or sgd
    weight_decay: float = 0.0
    clip_norm: float | None = None
    ema: float | None = None
    loss_scaling: bool = False
    tolerated: int = 0
    backbone_lr_factor: float = 1.0  # times the learning rate, for variables that can be frozen


class OptimizerState(NamedTuple):
    """Everything that an update changes. Each vector has all trainable weights, one variable after the other."""

    weights: Tensor
    first_moment: Tensor  # Adam's first moments, or SGD's momentum
    second_moment: Tensor  # Adam's second moments; empty for SGD
    ema: Tensor  # of the weights; empty without
    count: Tensor  # updates applied, int32
    scale: Tensor  # of the loss, float32
    good_steps: Tensor  # finite steps since the scale last changed, int32
    unapplied: Tensor  # steps that were not finite, int32


class UpdateStats(NamedTuple):
    gradient_norm: Tensor  # before clipping
    squares: Tensor  # of the gradient, per weight: read only when something is not finite
    finite: Tensor
    applied: Tensor


class Masks(NamedTuple):
    """One number per weight. Arguments of the step, not constants, which would bloat its graph."""

    decays: Tensor  # 1, or 0 for biases and the scales of normalisations, which are vectors
    freezes: Tensor  # 1 for variables that can be frozen


@dataclass(frozen=True)
class Layout:
    """Where each variable is in the vectors, and which variables can be frozen."""

    shapes: tuple[tuple[int, ...], ...]
    freezable: tuple[bool, ...]

    @property
    def sizes(self) -> list[int]:
        return [math.prod(shape) for shape in self.shapes]

    def masks(self) -> Masks:
        decays = [len(shape) > 1 for shape in self.shapes]
        return Masks(
            np.repeat(np.asarray(decays, np.float32), self.sizes),
            np.repeat(np.asarray(self.freezable, np.float32), self.sizes),
        )

    def flatten(self, values: Sequence[Tensor]) -> Tensor:
        return ops.concatenate([ops.reshape(ops.cast(value, "float32"), (-1,)) for value in values])

    def unflatten(self, vector: Tensor) -> list[Tensor]:
        return [
            ops.reshape(part, shape)
            for part, shape in zip(ops.split(vector, self._edges), self.shapes, strict=True)
        ]

    def unflatten_on_host(self, vector: Any) -> list[np.ndarray]:
        """The same for a numpy vector; an empty one has no parts."""
        if not vector.size:
            return []
        return [
            part.reshape(shape)
            for part, shape in zip(np.split(vector, self._edges), self.shapes, strict=True)
        ]

    @property
    def _edges(self) -> list[int]:
        return [int(edge) for edge in np.cumsum(self.sizes)[:-1]]


def initial_state(weights: Tensor, config: OptimizerConfig) -> OptimizerState:
    nothing = ops.zeros((0,), "float32")
    return OptimizerState(
        weights=weights,
        first_moment=ops.zeros_like(weights),
        second_moment=ops.zeros_like(weights) if config.optimizer == "adamw" else nothing,
        ema=ops.copy(weights) if config.ema else nothing,
        count=ops.cast(0, "int32"),
        scale=ops.cast(FIRST_SCALE if config.loss_scaling else 1.0, "float32"),
        good_steps=ops.cast(0, "int32"),
        unapplied=ops.cast(0, "int32"),
    )


def apply_update(
    state: OptimizerState,
    scaled_gradient: Tensor,
    loss: Tensor,
    learning_rate: Tensor,
    frozen: Tensor,
    masks: Masks,
    config: OptimizerConfig,
) -> tuple[OptimizerState, UpdateStats]:
    """The state after one update. While `frozen`, the freezable variables do not change. Their moments are updated all
    the same, or Adam's first steps after unfreezing would be far too large."""
    trained = 1.0 - ops.cast(frozen, "float32") * masks.freezes
    gradient = scaled_gradient / state.scale
    squares = ops.square(gradient)
    norm = ops.sqrt(ops.sum(squares * trained))  # of trained weights; not finite where any gradient is not
    finite = ops.logical_and(ops.isfinite(norm), ops.isfinite(loss))
    # The loss scale multiplies the gradient only: a loss that is not finite comes from the network or the data.
    scaled_too_far = ops.logical_and(ops.isfinite(loss), state.scale > SMALLEST_SCALE)
    overflow = ops.logical_and(ops.logical_not(finite), scaled_too_far)
    bad = ops.logical_and(ops.logical_not(finite), ops.logical_not(overflow))
    applied = ops.logical_and(finite, state.unapplied <= config.tolerated)
    if config.clip_norm is not None:
        gradient = gradient * ops.minimum(1.0, config.clip_norm / ops.maximum(norm, 1e-12))
    learning_rates = learning_rate * trained
    if config.backbone_lr_factor != 1.0:
        learning_rates = learning_rates * (1.0 - masks.freezes * (1.0 - config.backbone_lr_factor))
    new = _optimizer_step(state, gradient, learning_rates, trained, masks, config)
    updated = OptimizerState(
        *(ops.where(applied, after, before) for after, before in zip(new, state, strict=True))
    )
    updated = updated._replace(unapplied=state.unapplied + ops.cast(bad, "int32"))
    if config.loss_scaling:
        updated = _update_loss_scale(updated, state, finite, overflow)
    return updated, UpdateStats(norm, squares, finite, applied)


def _optimizer_step(
    state: OptimizerState,
    gradient: Tensor,
    learning_rate: Tensor,
    trained: Tensor,
    masks: Masks,
    config: OptimizerConfig,
) -> OptimizerState:
    """`learning_rate` is one number per weight; 0 for frozen ones, so neither the step nor the decay changes them."""
    count = state.count + 1
    weights = state.weights
    if config.weight_decay:  # decoupled (Loshchilov & Hutter 2019)
        weights = weights - weights * (masks.decays * config.weight_decay) * learning_rate
    update = _adam if config.optimizer == "adamw" else _momentum
    weights, first, second = update(state._replace(weights=weights), gradient, learning_rate, trained, count)
    ema = state.ema
    if config.ema:
        age = ops.cast(count, "float32")
        decay = ops.minimum(config.ema, (1.0 + age) / (10.0 + age))  # a young EMA forgets its random start
        ema = ema + (weights - ema) * (1.0 - decay)
    return state._replace(weights=weights, first_moment=first, second_moment=second, ema=ema, count=count)


def _adam(
    state: OptimizerState, gradient: Tensor, learning_rate: Tensor, trained: Tensor, count: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    age = ops.cast(count, "float32")
    alpha = learning_rate * ops.sqrt(1.0 - ops.power(BETA_2, age)) / (1.0 - ops.power(BETA_1, age))
    first = state.first_moment + (gradient - state.first_moment) * (1 - BETA_1)
    second = state.second_moment + (ops.square(gradient) - state.second_moment) * (1 - BETA_2)
    return state.weights - first * alpha / (ops.sqrt(second) + EPSILON), first, second


def _momentum(
    state: OptimizerState, gradient: Tensor, learning_rate: Tensor, trained: Tensor, count: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    momentum = state.first_moment * MOMENTUM - gradient * learning_rate
    velocity = momentum * trained  # frozen: no momentum from before either
    return state.weights + velocity, velocity, state.second_moment


def _update_loss_scale(
    updated: OptimizerState, state: OptimizerState, finite: Tensor, overflow: Tensor
) -> OptimizerState:
    """Halved after an overflow; doubled after GROW_AFTER finite steps."""
    good = ops.where(finite, state.good_steps + 1, 0)
    grown = good >= GROW_AFTER
    scale = ops.where(grown, ops.minimum(state.scale * 2.0, LARGEST_SCALE), state.scale)
    scale = ops.where(overflow, ops.maximum(state.scale * 0.5, SMALLEST_SCALE), scale)
    return updated._replace(scale=scale, good_steps=ops.where(grown, 0, good))
