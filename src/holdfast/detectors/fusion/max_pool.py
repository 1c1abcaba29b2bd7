"""Max pooling whose gradient is found by index.

XLA's own gradient searches every window again and adds into a buffer of zeros, one atomic addition an output; here
the forward pass keeps one byte an output, and the gradient is a comparison that fuses with its neighbours. Of equal
values the first in reading order gets the gradient, as in XLA's and TensorFlow's own.
"""

# mypy: allow-untyped-calls, allow-untyped-decorators

from __future__ import annotations

import functools
from collections.abc import Iterable
from functools import cache
from typing import Any

import keras
import numpy as np
from keras import ops

Tensor = Any


Edge = tuple[int, int]  # cells before, cells after
Padding = str | tuple[Edge, Edge]


def max_pool(x: Tensor, window: int, stride: int, padding: Padding) -> Tensor:
    """Square windows over (b, h, w, c); `padding` "same", "valid" or, on JAX, how many cells that never win."""
    if keras.backend.backend() != "jax" or isinstance(x, keras.KerasTensor):
        return ops.max_pool(x, window, stride, padding, data_format="channels_last")
    edges = padding if isinstance(padding, tuple) else (padding, padding)
    return _indexed()(x, tuple(x.shape[1:3]), window, stride, edges)


def _edges(side: int, window: int, stride: int, padding: str | Edge) -> tuple[int, int, int]:
    """(cells out, cells of padding before, after)."""
    if padding == "valid":
        padding = (0, 0)
    if isinstance(padding, tuple):
        return (side + sum(padding) - window) // stride + 1, *padding
    out = -(-side // stride)
    missing = max((out - 1) * stride + window - side, 0)
    return out, missing // 2, missing - missing // 2


@cache
def _indexed() -> Any:
    import jax
    import jax.numpy as jnp
    from jax import lax

    Sides = tuple[int, int]
    Edges = tuple[str | Edge, str | Edge]

    def forward(x: Tensor, sides: Sides, window: int, stride: int, padding: Edges) -> tuple[Tensor, Tensor]:
        (rows, top, bottom), (columns, left, right) = (
            _edges(side, window, stride, edge) for side, edge in zip(sides, padding, strict=True)
        )
        lowest = jnp.array(-jnp.inf, x.dtype)
        wide = lax.pad(x, lowest, ((0, 0, 0), (top, bottom, 0), (left, right, 0), (0, 0, 0)))
        places = (divmod(place, window) for place in range(window * window))
        return _highest(
            wide[:, i : i + stride * (rows - 1) + 1 : stride, j : j + stride * (columns - 1) + 1 : stride]
            for i, j in places
        )

    def backward(
        sides: Sides, window: int, stride: int, padding: Edges, index: Tensor, gradient: Tensor
    ) -> tuple[Tensor]:
        known = window == 2 or padding == ((1, 1), (1, 1))
        if stride == 2 and window in (2, 3) and known and all(side % 2 == 0 for side in sides):
            plain = functools.partial(cut, sides, window, stride, padding)
            return (_spread(plain, index, gradient, window=window),)
        return (cut(sides, window, stride, padding, index, gradient),)

    def cut(
        sides: Sides, window: int, stride: int, padding: Edges, index: Tensor, gradient: Tensor
    ) -> Tensor:
        wide = spread(index, gradient, window, stride)
        cuts = [(0, 0, 0)]
        for side, edge, reached in zip(sides, padding, wide.shape[1:3], strict=True):
            before = _edges(side, window, stride, edge)[1]
            cuts.append((-before, side + before - reached, 0))
        return lax.pad(wide, jnp.zeros((), wide.dtype), (*cuts, (0, 0, 0)))

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

    def value(x: Tensor, sides: Sides, window: int, stride: int, padding: Edges) -> Tensor:
        return forward(x, sides, window, stride, padding)[0]

    function = jax.custom_vjp(value, nondiff_argnums=(1, 2, 3, 4))
    function.defvjp(forward, backward)
    return function


def max_pool_space_to_depth(x: Tensor) -> Tensor:
    """Windows of three by three around every second pixel, over (b, h, w, 4 c) whose cells hold two by two pixels:
    what a convolution gives that makes four pixels at once (`first_layer`). Gives (b, h, w, c); JAX only."""
    return _space_to_depth_pool()(x)


#: The nine places of a window in reading order: cells up, cells left, which of a cell's four.
_PLACES = [(1, 1, 3), (1, 0, 2), (1, 0, 3), (0, 1, 1), (0, 0, 0), (0, 0, 1), (0, 1, 3), (0, 0, 2), (0, 0, 3)]


def _highest(cells: Iterable[Tensor]) -> tuple[Tensor, Tensor]:
    """The largest at each place, and the number of the first that has it."""
    import jax.numpy as jnp

    best: Any = None
    index: Any = None
    for place, cell in enumerate(cells):
        if best is None:
            best, index = cell, jnp.zeros(cell.shape, jnp.uint8)
        else:
            index = jnp.where(cell > best, jnp.uint8(place), index)
            best = jnp.maximum(best, cell)
    return best, index


@cache
def _space_to_depth_pool() -> Any:
    import jax
    import jax.numpy as jnp
    from jax import lax

    def forward(x: Tensor) -> tuple[Tensor, Tensor]:
        _, height, width, _ = x.shape
        lowest = jnp.array(-jnp.inf, x.dtype)
        wide = lax.pad(x, lowest, ((0, 0, 0), (1, 0, 0), (1, 0, 0), (0, 0, 0)))
        return _highest(
            jnp.split(wide[:, 1 - up : 1 - up + height, 1 - left : 1 - left + width], 4, axis=-1)[which]
            for up, left, which in _PLACES
        )

    def backward(index: Tensor, gradient: Tensor) -> tuple[Tensor]:
        return (_spread(plain, index, gradient, window=3, fours=True),)

    def plain(index: Tensor, gradient: Tensor) -> Tensor:
        _, height, width, _ = gradient.shape
        fours: list[Any] = [None] * 4
        for place, (up, left, which) in enumerate(_PLACES):
            found = jnp.where(index == place, gradient, jnp.zeros((), gradient.dtype))
            moved = jnp.pad(found, ((0, 0), (0, up), (0, left), (0, 0)))[
                :, up : up + height, left : left + width
            ]
            fours[which] = moved if fours[which] is None else fours[which] + moved
        return jnp.concatenate(fours, axis=-1)

    function = jax.custom_vjp(lambda x: forward(x)[0])
    function.defvjp(forward, backward)
    return function


def max_pool_pixel_pairs(x: Tensor) -> Tensor:
    """Windows of two by two over what `pairs.second` gives: (b, 2h, w + 1, 2 c), where a cell holds two neighbours in a
    row, the first of them one pixel before the image. Gives (b, h, w, c); JAX only."""
    return _pixel_pair_pool()(x)


@cache
def _pixel_pair_pool() -> Any:
    import jax
    import jax.numpy as jnp

    def forward(x: Tensor) -> tuple[Tensor, Tensor]:
        batch, rows, cells, channels = x.shape
        wide = x.reshape(batch, rows, 2 * cells, channels // 2)
        places = (divmod(place, 2) for place in range(4))
        return _highest(wide[:, i::2, 1 + j : 2 * cells - 2 + j : 2] for i, j in places)

    def backward(index: Tensor, gradient: Tensor) -> tuple[Tensor]:
        batch, rows, columns, channels = gradient.shape
        wide = _spread(plain, index, gradient, window=2, edge=1)
        return (wide.reshape(batch, 2 * rows, columns + 1, 2 * channels),)

    def plain(index: Tensor, gradient: Tensor) -> Tensor:
        batch, rows, columns, channels = gradient.shape
        hit = index[:, :, None, :, None, :] == np.arange(4, dtype=np.uint8).reshape(1, 1, 2, 1, 2, 1)
        found = jnp.where(hit, gradient[:, :, None, :, None, :], jnp.zeros((), gradient.dtype))
        found = found.reshape(batch, 2 * rows, 2 * columns, channels)
        return jnp.pad(found, ((0, 0), (0, 0), (1, 1), (0, 0)))

    function = jax.custom_vjp(lambda x: forward(x)[0])
    function.defvjp(forward, backward)
    return function


def _spread(
    plain: Any, index: Tensor, gradient: Tensor, *, window: int, fours: bool = False, edge: int = 0
) -> Tensor:
    from holdfast.detectors.ops import pallas_kernels

    tile = pallas_kernels.pool_tile(gradient.shape)
    if tile is None:
        return plain(index, gradient)
    return pallas_kernels.select_kernel(
        gradient, functools.partial(pallas_kernels.spread, tile, window, fours, edge), plain, index, gradient
    )
