"""Max pooling whose gradient is found by index.

XLA's own gradient searches every window again and adds into a buffer of zeros, one atomic addition an output; here
the forward pass keeps one byte an output, and the gradient is a comparison that fuses with its neighbours. Of equal
values the first in reading order gets the gradient, as in XLA's and TensorFlow's own.
"""

# mypy: allow-untyped-calls, allow-untyped-decorators

from __future__ import annotations

from functools import cache
from typing import Any

import keras
import numpy as np
from keras import ops

Tensor = Any


def max_pool(x: Tensor, window: int, stride: int, padding: str) -> Tensor:
    """Square windows over (b, h, w, c); `padding` "same" or "valid"."""
    if keras.backend.backend() != "jax" or isinstance(x, keras.KerasTensor):
        return ops.max_pool(x, window, stride, padding, data_format="channels_last")
    return _indexed()(x, tuple(x.shape[1:3]), window, stride, padding)


def _edges(side: int, window: int, stride: int, padding: str) -> tuple[int, int, int]:
    """(cells out, cells of padding before, after)."""
    if padding == "valid":
        return (side - window) // stride + 1, 0, 0
    out = -(-side // stride)
    missing = max((out - 1) * stride + window - side, 0)
    return out, missing // 2, missing - missing // 2


@cache
def _indexed() -> Any:
    import jax
    import jax.numpy as jnp
    from jax import lax

    Sides = tuple[int, int]

    def forward(x: Tensor, sides: Sides, window: int, stride: int, padding: str) -> tuple[Tensor, Tensor]:
        (rows, top, bottom), (columns, left, right) = (
            _edges(side, window, stride, padding) for side in sides
        )
        lowest = jnp.array(-jnp.inf, x.dtype)
        wide = lax.pad(x, lowest, ((0, 0, 0), (top, bottom, 0), (left, right, 0), (0, 0, 0)))
        best: Any = None
        index: Any = None
        for place in range(window * window):
            i, j = divmod(place, window)
            cell = wide[
                :, i : i + stride * (rows - 1) + 1 : stride, j : j + stride * (columns - 1) + 1 : stride
            ]
            if best is None:
                best, index = cell, jnp.zeros(cell.shape, jnp.uint8)
            else:
                index = jnp.where(cell > best, jnp.uint8(place), index)
                best = jnp.maximum(best, cell)
        return best, index

    def backward(
        sides: Sides, window: int, stride: int, padding: str, index: Tensor, gradient: Tensor
    ) -> tuple[Tensor]:
        wide = spread(index, gradient, window, stride)
        cuts = [(0, 0, 0)]
        for side, reached in zip(sides, wide.shape[1:3], strict=True):
            before = _edges(side, window, stride, padding)[1]
            cuts.append((-before, side + before - reached, 0))
        return (lax.pad(wide, jnp.zeros((), wide.dtype), (*cuts, (0, 0, 0))),)

    def spread(index: Tensor, gradient: Tensor, window: int, stride: int) -> Tensor:
        """A cell at stride * q + a belongs to windows q - d, in which it has the place a + d * stride, if inside."""
        batch, rows, columns, channels = gradient.shape
        reach = -(-window // stride)
        inside = np.arange(stride)
        total: Any = None
        for down in range(reach):
            for along in range(reach):
                edges = [(d, reach - 1 - d, 0) for d in (down, along)]
                moved, at = (
                    lax.pad(one, jnp.zeros((), one.dtype), ((0, 0, 0), *edges, (0, 0, 0)))
                    for one in (gradient, index)
                )
                place = window * (inside + down * stride)[:, None] + (inside + along * stride)[None, :]
                outside = (inside + down * stride >= window)[:, None] | (inside + along * stride >= window)
                wanted = np.where(outside, 255, place).astype(np.uint8).reshape(1, 1, stride, 1, stride, 1)
                hit = at[:, :, None, :, None, :] == wanted
                one = jnp.where(hit, moved[:, :, None, :, None, :], jnp.zeros((), gradient.dtype))
                total = one if total is None else total + one
        sides = ((rows + reach - 1) * stride, (columns + reach - 1) * stride)
        return total.reshape(batch, *sides, channels)

    def value(x: Tensor, sides: Sides, window: int, stride: int, padding: str) -> Tensor:
        return forward(x, sides, window, stride, padding)[0]

    function = jax.custom_vjp(value, nondiff_argnums=(1, 2, 3, 4))
    function.defvjp(forward, backward)
    return function
