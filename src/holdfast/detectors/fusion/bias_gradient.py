"""Sums over all pixels, one a channel, in float32: the gradient of a bias, alone or with its ReLU's. JAX only."""

from __future__ import annotations

from functools import partial
from typing import Any

import jax.numpy as jnp

from holdfast.detectors.ops import pallas_kernels

Tensor = Any


def sums(gradient: Tensor) -> Tensor:
    """(…, c) to (c,)."""
    tiles = pallas_kernels.row_tiles_of(gradient.shape)
    if tiles is None:
        return _sums(gradient)
    return pallas_kernels.select_kernel(gradient, partial(pallas_kernels.sums, tiles), _sums, gradient)


def relu_gradient_and_sums(output: Tensor, gradient: Tensor) -> tuple[Tensor, Tensor]:
    """The gradient where a ReLU's output is not zero, and its sums."""
    tiles = pallas_kernels.row_tiles_of(gradient.shape)
    if tiles is None:
        return _relu_gradient_and_sums(output, gradient)
    found: tuple[Tensor, Tensor] = pallas_kernels.select_kernel(
        gradient,
        partial(pallas_kernels.relu_gradient_and_sums, tiles),
        _relu_gradient_and_sums,
        output,
        gradient,
    )
    return found


def _sums(gradient: Tensor) -> Tensor:
    return jnp.sum(gradient, axis=tuple(range(gradient.ndim - 1)), dtype=jnp.float32)


def _relu_gradient_and_sums(output: Tensor, gradient: Tensor) -> tuple[Tensor, Tensor]:
    cut = jnp.where(output != 0, gradient, jnp.zeros_like(gradient))
    return cut, _sums(cut)
