"""Passes over large maps as kernels of our own, for NVIDIA GPUs: where a profile showed that the compiler's
take two to five times what the memory would allow. Each has a plain form beside it, which is what every other device
gets; `tests/detectors/on_jax.py` holds them equal.

Written in Pallas, for its Triton backend, which JAX means to drop one day: without it the plain forms run.
"""

# mypy: allow-untyped-calls

from __future__ import annotations

import contextlib
import math
import os
import sys
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax
from jax.experimental import pallas as pl

try:
    from jax.experimental.pallas import triton as triton
except ImportError:  # another JAX
    triton = None  # type: ignore[assignment]

Tensor = Any
Shape = jax.ShapeDtypeStruct

TILE = 4096  # numbers that a program holds at once: 32 a thread
PROGRAMS = 1056  # eight for each of an H200's multiprocessors
MIN_ELEMENTS = 2**22  # fewer numbers take no time worth a kernel
OLDEST_CAPABILITY = 80  # compute capability with bfloat16, times ten
INTERPRETED = False  # set by tests: the kernels' arithmetic, without a GPU


def select_kernel(x: Tensor, kernel: Callable[..., Any], plain: Callable[..., Any], *values: Tensor) -> Any:
    """`kernel` where the program is compiled for an NVIDIA GPU that it is written for and `x` is worth it."""
    if INTERPRETED:
        return kernel(*values)
    if x.dtype != jnp.bfloat16 or not MIN_ELEMENTS <= x.size < 2**31 or not _is_supported_gpu():
        return plain(*values)
    return lax.platform_dependent(*values, cuda=kernel, default=plain)


_described_capabilities: list[int] = []  # compute capability, times ten


@contextlib.contextmanager
def for_described_gpu(capability: int) -> Iterator[None]:
    """While a program is traced and lowered for a GPU that is not here, of that compute capability times ten."""
    _described_capabilities.append(capability)
    try:
        with _patched_gpu_registry(), warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            yield
    finally:
        _described_capabilities.pop()


@contextlib.contextmanager
def _patched_gpu_registry() -> Iterator[None]:
    """From 0.11 on JAX asks which GPU it lowers a kernel for, and knows but its own list. What it makes of ours is
    the same for all of them, so one of the list is named for the CPU that compiles."""
    place = sys.modules[triton.GpuInfo.__module__] if hasattr(triton, "GpuInfo") else None
    known: dict[str, Any] = getattr(place, "registry", {})
    kind = jax.devices()[0].device_kind
    gpus: Any = triton
    known[kind] = lambda: gpus.get_gpu_info_from_version(gpus.GpuVersion.H100)
    try:
        yield
    finally:
        del known[kind]


def _is_supported_gpu() -> bool:
    if triton is None or os.environ.get("HOLDFAST_KERNELS") == "0":
        return False
    if _described_capabilities:
        return _described_capabilities[-1] >= OLDEST_CAPABILITY
    try:
        if hasattr(triton, "get_gpu_info"):
            return bool(triton.get_gpu_info().compute_capability >= OLDEST_CAPABILITY)
        return float(jax.devices("cuda")[0].compute_capability) * 10 >= OLDEST_CAPABILITY
    except (RuntimeError, ValueError, AttributeError):  # no GPU, or one that the backend does not know
        return False


def call(
    kernel: Callable[..., None], grid: tuple[int, ...], out: Any, *values: Tensor, warps: int = 4, **how: Any
) -> Any:
    params = None if triton is None else triton.CompilerParams(num_warps=warps)
    return pl.pallas_call(
        kernel, grid=grid, out_shape=out, interpret=INTERPRETED, compiler_params=params, **how
    )(*values)  # fmt: skip


# -- a ReLU's gradient and its sums ---------------------------------------------------------------------


class RowTiles(NamedTuple):
    rows: int  # of one tile
    times: int  # tiles one after the other
    programs: int


def row_tiles_of(shape: tuple[int, ...]) -> RowTiles | None:
    """How rows of `shape[-1]` numbers are dealt out; None where they do not come out even."""
    *outer, channels = shape
    count = 1
    for side in outer:
        count *= side
    rows = TILE // channels if channels else 0
    if channels & (channels - 1) or not 32 <= channels <= TILE or count % rows:
        return None
    tiles, times = count // rows, 1
    while tiles % (2 * times) == 0 and tiles // (2 * times) >= PROGRAMS and times < 16:
        times *= 2
    return RowTiles(rows, times, tiles // times)


def relu_gradient_and_sums(tiles: RowTiles, output: Tensor, gradient: Tensor) -> tuple[Tensor, Tensor]:
    """`gradient` where `output` is not zero, and its sums by channel: two maps read, one written."""
    channels = gradient.shape[-1]
    block = pl.BlockSpec((tiles.rows * tiles.times, channels), lambda i: (i, 0))
    flat = (tiles.rows * tiles.times * tiles.programs, channels)
    cut, parts = call(
        partial(_relu_gradient, tiles), (tiles.programs,),
        [Shape(flat, gradient.dtype), Shape((tiles.programs, channels), jnp.float32)],
        output.reshape(flat), gradient.reshape(flat), in_specs=[block, block],
        out_specs=[block, pl.BlockSpec((1, channels), lambda i: (i, 0))], input_output_aliases={1: 0},
    )  # fmt: skip
    return cut.reshape(gradient.shape), jnp.sum(parts, axis=0)


def _relu_gradient(tiles: RowTiles, output: Any, gradient: Any, cut: Any, sums: Any) -> None:
    def one(index: Any, so_far: Any) -> Any:
        at = (pl.ds(index * tiles.rows, tiles.rows), slice(None))
        kept = jnp.where(output[at] != 0, gradient[at], jnp.zeros((), gradient.dtype))
        cut[at] = kept
        return so_far + kept.astype(jnp.float32)

    zeros = jnp.zeros((tiles.rows, cut.shape[-1]), jnp.float32)
    sums[0, :] = jnp.sum(lax.fori_loop(0, tiles.times, one, zeros), axis=0)


def sums(tiles: RowTiles, gradient: Tensor) -> Tensor:
    channels = gradient.shape[-1]
    parts = call(
        partial(_sums, tiles), (tiles.programs,), Shape((tiles.programs, channels), jnp.float32),
        gradient.reshape(-1, channels),
        in_specs=[pl.BlockSpec((tiles.rows * tiles.times, channels), lambda i: (i, 0))],
        out_specs=pl.BlockSpec((1, channels), lambda i: (i, 0)),
    )  # fmt: skip
    return jnp.sum(parts, axis=0)


def _sums(tiles: RowTiles, gradient: Any, sums: Any) -> None:
    def one(index: Any, so_far: Any) -> Any:
        return so_far + gradient[pl.ds(index * tiles.rows, tiles.rows), :].astype(jnp.float32)

    zeros = jnp.zeros((tiles.rows, sums.shape[-1]), jnp.float32)
    sums[0, :] = jnp.sum(lax.fori_loop(0, tiles.times, one, zeros), axis=0)


# -- the gradient of pooling with a stride of two -------------------------------------------------------


def pool_tile(shape: tuple[int, ...]) -> int | None:
    """Columns at once, for a pooled map (b, h, w, c)."""
    channels = shape[-1]
    if channels & (channels - 1) or not 32 <= channels <= TILE // 2 or 5 * math.prod(shape) >= 2**31:
        return None
    return TILE // 2 // channels


def spread(tile: int, window: int, fours: bool, edge: int, index: Tensor, gradient: Tensor) -> Tensor:
    """Each window's gradient at the pixel it was found in. Windows are of two by two, side by side, or of three by
    three that start one pixel before every second one: a pixel of an odd row or column lies in two of those.
    (b, 2h, 2w, c), or (b, h, w, 4 c) with `fours`; with an `edge` of 1 there is a column of zeros on either side."""
    batch, rows, columns, channels = gradient.shape
    shape = (
        (batch, rows, columns, 4 * channels) if fours else (batch, 2 * rows, 2 * (columns + edge), channels)
    )
    out = call(
        partial(_spread, tile, window, fours, edge), (batch, rows, -(-columns // tile)),
        Shape((math.prod(shape),), gradient.dtype), index, gradient,
    )  # fmt: skip
    return out.reshape(shape)


def _spread(tile: int, window: int, fours: bool, edge: int, index: Any, gradient: Any, out: Any) -> None:
    _, rows, columns, channels = gradient.shape
    image, row, first = pl.program_id(0), pl.program_id(1), pl.program_id(2) * tile
    column = first + lax.broadcasted_iota(jnp.int32, (tile, channels), 0)
    channel = lax.broadcasted_iota(jnp.int32, (tile, channels), 1)

    def of(down: int, along: int) -> tuple[Any, Any]:
        inside = (column + along < columns) & (row + down < rows)
        at = (image, row + down, pl.ds(first + along, tile), slice(None))
        return (
            triton.load(index.at[at], mask=inside, other=255),
            triton.load(gradient.at[at], mask=inside, other=0.0),
        )

    here = of(0, 0)
    if window == 2:
        pixels = {(place // 2, place % 2): [(here, place)] for place in range(4)}
    else:
        right, below, across = of(0, 1), of(1, 0), of(1, 1)
        pixels = {
            (0, 0): [(here, 4)], (0, 1): [(here, 5), (right, 3)], (1, 0): [(here, 7), (below, 1)],
            (1, 1): [(here, 8), (right, 6), (below, 2), (across, 0)],
        }  # fmt: skip
    for (down, along), places in pixels.items():
        parts = [jnp.where(at == place, found, jnp.zeros((), found.dtype)) for (at, found), place in places]
        line = image * rows + row
        if fours:
            pixel = (line * columns + column) * 4 + 2 * down + along
        else:
            first_pixel = (line * 2 + down) * 2 * (columns + edge)
            pixel = first_pixel + 2 * column + along + edge
        triton.store(out.at[pixel * channels + channel], sum(parts[1:], parts[0]), mask=column < columns)
        if edge:
            side, here_too = (2 * columns + 1, first + tile >= columns) if along else (0, first == 0)
            places = (first_pixel + side) * channels + lax.iota(jnp.int32, channels)
            zeros = jnp.zeros((channels,), out.dtype)
            triton.store(out.at[places], zeros, mask=jnp.broadcast_to(here_too, (channels,)))


# -- focal loss and its gradient ------------------------------------------------------------------------


FOCAL_COLUMNS = 256  # that a program sees at once: few are left over, whatever the number of classes


class FocalTiles(NamedTuple):
    """How (b, cells, anchors x classes) is dealt out: `rows` cells a tile, `times` tiles a program."""

    batch: int
    cells: int
    classes: int
    columns: int
    rows: int
    times: int

    @property
    def grid(self) -> tuple[int, int, int]:
        return self.batch, self.cells // (self.rows * self.times), -(-self.columns // FOCAL_COLUMNS)


def focal_tiles(shape: tuple[int, ...], classes: int) -> FocalTiles | None:
    batch, cells, columns = shape
    rows = TILE // 4 // FOCAL_COLUMNS  # of more, a thread could not keep what it holds in registers
    if rows == 0 or cells % rows or columns % 8:
        return None
    times = next(times for times in (16, 8, 4, 2, 1) if cells % (rows * times) == 0)
    return FocalTiles(batch, cells, classes, columns, rows, times)


def focal_and_slope(logits: Tensor, hit: Tensor, alpha: float = 0.25) -> tuple[Tensor, Tensor]:
    """`losses.focal` with a gamma of 2 and its derivative, -(1 - p_t)^2 (2 p_t (-log p_t) + 1 - p_t) by z: all of it
    made of one exponential, one logarithm and one division, which are what this costs."""
    signed = jnp.where(hit, logits, -logits)
    small = jnp.exp(-jnp.abs(signed))
    larger = 1.0 / (1.0 + small)
    smaller = small * larger
    sure, unsure = jnp.where(signed >= 0.0, larger, smaller), jnp.where(signed >= 0.0, smaller, larger)
    surprise = jnp.maximum(-signed, 0.0) - jnp.log(larger)
    weight = jnp.where(hit, alpha, 1.0 - alpha) * unsure * unsure
    slope = weight * (2.0 * sure * surprise + unsure)
    return weight * surprise, jnp.where(hit, -slope, slope)


def focal(how: FocalTiles, outputs: Tensor, bias: Tensor, label: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """(loss of each image, slope of each output, sum of slopes by image and column). `label` is (b, anchors):
    the class, -1 for background, less for what does not count."""
    batch, programs, chunks = how.grid
    parts = batch * programs * chunks
    slope, loss, total = call(
        partial(_focal, how), how.grid,
        [Shape((outputs.size,), outputs.dtype), Shape((parts,), jnp.float32),
         Shape((parts * FOCAL_COLUMNS,), jnp.float32)],
        outputs.reshape(-1), bias, label.reshape(-1),
    )  # fmt: skip
    total = total.reshape(batch, programs, chunks * FOCAL_COLUMNS)[..., : how.columns].sum(axis=1)
    return loss.reshape(batch, -1).sum(axis=1), slope.reshape(outputs.shape), total


def _focal(how: FocalTiles, outputs: Any, bias: Any, label: Any, slope: Any, loss: Any, total: Any) -> None:
    _, programs, chunks = how.grid
    group = pl.program_id(0) * programs + pl.program_id(1)
    part = group * chunks + pl.program_id(2)
    place = lax.iota(jnp.int32, FOCAL_COLUMNS)
    column = pl.program_id(2) * FOCAL_COLUMNS + place
    shape = (how.rows, FOCAL_COLUMNS)
    inside = jnp.broadcast_to(column < how.columns, shape)
    biases = triton.load(bias.at[column], mask=column < how.columns, other=0.0)
    anchor, kind = lax.div(column, how.classes), lax.rem(column, how.classes)

    def one(index: Any, so_far: tuple[Any, Any]) -> tuple[Any, Any]:
        row = (group * how.times + index) * how.rows + lax.iota(jnp.int32, how.rows)
        at = row[:, None] * how.columns + column[None, :]
        logits = triton.load(outputs.at[at], mask=inside, other=0.0).astype(jnp.float32) + biases[None, :]
        owner = row[:, None] * (how.columns // how.classes) + anchor[None, :]
        wanted = triton.load(label.at[owner], mask=inside, other=-2)
        value, gradient = focal_and_slope(logits, wanted == kind[None, :])
        counts = wanted >= -1
        value, gradient = jnp.where(counts, value, 0.0), jnp.where(counts, gradient, 0.0)
        triton.store(slope.at[at], gradient.astype(slope.dtype), mask=inside)
        return so_far[0] + value, so_far[1] + gradient

    zeros = jnp.zeros(shape, jnp.float32)
    losses, gradients = lax.fori_loop(0, how.times, one, (zeros, zeros))
    triton.store(loss.at[part], jnp.sum(losses))
    triton.store(total.at[part * FOCAL_COLUMNS + place], jnp.sum(gradients, axis=0))


# -- weighted sums of rows ------------------------------------------------------------------------------


def rows_at_once(table: tuple[int, ...], index: tuple[int, ...]) -> int | None:
    """Of (n, c) and (m, t): how many of the m sums a program makes."""
    channels = table[-1]
    if channels & (channels - 1) or not 32 <= channels <= TILE // 2 or index[0] * channels >= 2**31:
        return None
    rows = TILE // 2 // channels
    return rows if index[0] % rows == 0 else None


def weighted_rows(rows: int, table: Tensor, index: Tensor, share: Tensor) -> Tensor:
    """The sum over t of `share[m, t] * table[index[m, t]]`, each row read where it lies, side by side."""
    count, terms = index.shape
    channels = table.shape[-1]
    out = call(
        partial(_weighted_rows, rows, terms, channels), (count // rows,), Shape((count * channels,), table.dtype),
        table.reshape(-1), index.reshape(-1), share.reshape(-1),
    )  # fmt: skip
    return out.reshape(count, channels)


def _weighted_rows(
    rows: int, terms: int, channels: int, table: Any, index: Any, share: Any, out: Any
) -> None:
    row = pl.program_id(0) * rows + lax.iota(jnp.int32, rows)
    channel = lax.iota(jnp.int32, channels)
    total = jnp.zeros((rows, channels), jnp.float32)
    for term in range(terms):
        at, part = triton.load(index.at[row * terms + term]), triton.load(share.at[row * terms + term])
        found = triton.load(table.at[at[:, None] * channels + channel[None, :]])
        total = total + found.astype(jnp.float32) * part[:, None]
    triton.store(out.at[row[:, None] * channels + channel[None, :]], total.astype(out.dtype))
