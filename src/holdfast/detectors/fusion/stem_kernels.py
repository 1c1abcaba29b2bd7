"""A first layer's images laid out for it, and the gradients of its kernel and bias in one pass, for NVIDIA GPUs:
their plain forms are in `pairs`."""

# mypy: allow-untyped-calls

from __future__ import annotations

import math
from functools import partial
from typing import Any, NamedTuple

import jax.numpy as jnp
from jax import lax
from jax.experimental import pallas as pl

from holdfast.detectors.ops import pallas_kernels
from holdfast.detectors.ops.pallas_kernels import Shape, triton

Tensor = Any

ROWS = 64  # of a tile
PROGRAMS = 528  # four for each of an H200's multiprocessors


def pair_neighbourhoods(out: tuple[int, ...], x: Tensor) -> Tensor:
    """`pairs.around`: each number is read where it lies."""
    batch, height, cells, width = out
    room = 1 << (width - 1).bit_length()
    laid = pallas_kernels.call(
        partial(_pair_neighbourhoods, out, x.shape, room), (-(-cells // ROWS), height, batch),
        Shape((math.prod(out),), x.dtype), x.reshape(-1),
    )  # fmt: skip
    return laid.reshape(out)


def _pair_neighbourhoods(out: tuple[int, ...], shape: tuple[int, ...], room: int, x: Any, laid: Any) -> None:
    _, height, cells, width = out
    line = shape[2] * shape[3]
    taken = 4 * shape[3]  # of each of three rows
    row, image = pl.program_id(1), pl.program_id(2)
    cell = pl.program_id(0) * ROWS + lax.iota(jnp.int32, ROWS)
    place = lax.iota(jnp.int32, room)
    down = row - 1 + lax.div(place, taken)
    along = (2 * cell - 3)[:, None] * shape[3] + lax.rem(place, taken)[None, :]
    side = (cell == 0) | (cell == cells - 1)
    known = ((place < 3 * taken) & (down >= 0) & (down < height))[None, :]
    known = known & (along >= 0) & (along < line) & (side == False)[:, None]  # noqa: E712
    pixels = triton.load(x.at[(image * height + down)[None, :] * line + along], mask=known, other=0.0)
    mark = side[:, None] & (place == 3 * taken)[None, :]
    pixels = jnp.where(mark, jnp.ones((), pixels.dtype), pixels)
    at = ((image * height + row) * cells + cell)[:, None] * width + place[None, :]
    triton.store(laid.at[at], pixels, mask=(cell < cells)[:, None] & (place < width)[None, :])


class StemTiles(NamedTuple):
    rows: int  # in all
    inputs: int
    outputs: int
    width: int  # inputs, a one for the bias, and zeros to a power of two

    @property
    def times(self) -> int:
        return -(-self.rows // (ROWS * PROGRAMS))


def stem_tiles_of(x: tuple[int, ...], gradient: tuple[int, ...]) -> StemTiles | None:
    inputs, outputs = x[-1], gradient[-1]
    if outputs & (outputs - 1) or not 16 <= outputs <= 128 or inputs >= 64:
        return None
    return StemTiles(math.prod(gradient[:-1]), inputs, outputs, max(16, 1 << inputs.bit_length()))


def kernel_and_bias_gradient(
    tiles: StemTiles, x: Tensor, y: Tensor, gradient: Tensor
) -> tuple[Tensor, Tensor]:
    """(inputs, outputs) and (outputs,), in float32: `x` times the gradient where `y` is not zero."""
    parts = pallas_kernels.call(
        partial(_sums, tiles), (PROGRAMS,), Shape((PROGRAMS, tiles.width, tiles.outputs), jnp.float32),
        x.reshape(-1), y.reshape(-1), gradient.reshape(-1), warps=8,
        out_specs=pl.BlockSpec((1, tiles.width, tiles.outputs), lambda i: (i, 0, 0)),
    )  # fmt: skip
    total = jnp.sum(parts, axis=0)
    return total[: tiles.inputs], total[tiles.inputs]


def _sums(tiles: StemTiles, x: Any, y: Any, gradient: Any, sums: Any) -> None:
    row_of = pl.program_id(0) * (tiles.times * ROWS) + lax.iota(jnp.int32, ROWS)
    column, output = lax.iota(jnp.int32, tiles.width), lax.iota(jnp.int32, tiles.outputs)
    shape = (ROWS, tiles.width)
    known = jnp.broadcast_to(column[None, :] < tiles.inputs, shape)
    one = jnp.broadcast_to(column[None, :] == tiles.inputs, shape)

    def more(index: Any, so_far: Any) -> Any:
        row = row_of + index * ROWS
        there = row < tiles.rows
        at = row[:, None] * tiles.inputs + column[None, :]
        pixels = triton.load(x.at[at], mask=known & there[:, None], other=0.0)
        pixels = jnp.where(one, jnp.ones((), pixels.dtype), pixels)
        at = row[:, None] * tiles.outputs + output[None, :]
        inside = jnp.broadcast_to(there[:, None], (ROWS, tiles.outputs))
        found = triton.load(y.at[at], mask=inside, other=0.0)
        back = triton.load(gradient.at[at], mask=inside, other=0.0)
        passed = jnp.where(found != 0, back, jnp.zeros((), back.dtype))
        over_rows = (((0,), (0,)), ((), ()))
        return so_far + lax.dot_general(pixels, passed, over_rows, preferred_element_type=jnp.float32)

    zeros = jnp.zeros((tiles.width, tiles.outputs), jnp.float32)
    sums[0, :, :] = lax.fori_loop(0, tiles.times, more, zeros)
