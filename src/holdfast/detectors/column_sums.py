"""Sums over all pixels, one a channel, in float32: the gradient of a bias, alone or with its ReLU's. JAX only."""

from __future__ import annotations

from functools import partial
from typing import Any

import jax.numpy as jnp

from holdfast.detectors import kernels

Tensor = Any


def sums(gradient: Tensor) -> Tensor:
    """(…, c) to (c,)."""
    tiles = kernels.tiles_of(gradient.shape)
    if tiles is None:
        return _sums(gradient)
    return kernels.chosen(gradient, partial(kernels.sums, tiles), _sums, gradient)


def cut_and_sums(output: Tensor, gradient: Tensor) -> tuple[Tensor, Tensor]:
    """The gradient where a ReLU's output is not zero, and its sums."""
    tiles = kernels.tiles_of(gradient.shape)
    if tiles is None:
        return _cut_and_sums(output, gradient)
    found: tuple[Tensor, Tensor] = kernels.chosen(
        gradient, partial(kernels.cut_and_sums, tiles), _cut_and_sums, output, gradient
    )
    return found


def _sums(gradient: Tensor) -> Tensor:
    return jnp.sum(gradient, axis=tuple(range(gradient.ndim - 1)), dtype=jnp.float32)


def _cut_and_sums(output: Tensor, gradient: Tensor) -> tuple[Tensor, Tensor]:
    cut = jnp.where(output != 0, gradient, jnp.zeros_like(gradient))
    return cut, _sums(cut)
