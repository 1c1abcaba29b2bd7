"""Rows of a table, picked by index, one by one or as weighted sums: flat gathers on every backend."""

# mypy: allow-untyped-calls

from __future__ import annotations

from functools import cache, partial
from typing import Any

import keras
from keras import ops

Tensor = Any


def gather_rows(table: Tensor, index_bk: Tensor) -> Tensor:
    """`table[b, index[b, k]]`: (b, n, …) and (b, k) give (b, k, …).

    One `take` over a flattened table compiles to a plain gather (and its gradient to a plain
    scatter-add) on TensorFlow and JAX alike; `take_along_axis` widens the index to every channel.
    """
    batch, length = ops.shape(table)[0], ops.shape(table)[1]
    tail = tuple(table.shape[2:])
    flat = ops.reshape(table, (-1, *tail))
    first_row = ops.arange(batch, dtype="int32")[:, None] * length
    index = ops.cast(index_bk, "int32") + first_row
    picked = ops.take(flat, ops.reshape(index, (-1,)), axis=0)
    return ops.reshape(picked, (batch, index_bk.shape[1], *tail))


def weighted_rows(table_nc: Tensor, index_mt: Tensor, share_mt: Tensor) -> Tensor:
    """The sum over t of `share[m, t] * table[index[m, t]]`: (m, c), summed in float32. Shares get no gradient."""
    share_mt = ops.stop_gradient(share_mt)
    if keras.backend.backend() == "jax" and not isinstance(table_nc, keras.KerasTensor):
        return _jax_weighted_rows()(table_nc, index_mt, share_mt)
    return _weighted_sum(table_nc, index_mt, share_mt)


def _weighted_sum(table_nc: Tensor, index_mt: Tensor, share_mt: Tensor) -> Tensor:
    total = 0.0
    for place in range(index_mt.shape[1]):
        picked = ops.cast(ops.take(table_nc, index_mt[:, place], axis=0), "float32")
        total = total + picked * share_mt[:, place, None]
    return ops.cast(total, table_nc.dtype)


@cache
def _jax_weighted_rows() -> Any:
    """With a gradient that is one scatter in float32: JAX's own makes a table a term, and adds halves by
    compare-and-swap: 120 ms in place of 8 for 64 images on an H200."""
    import jax
    import jax.numpy as jnp

    from holdfast.detectors.ops import pallas_kernels

    def forward(table: Tensor, index: Tensor, share: Tensor) -> tuple[Tensor, Any]:
        # Apart from the sum, else each of a row's channels would work out the index again.
        index, share = jax.lax.optimization_barrier((index, share))
        at_once = pallas_kernels.rows_at_once(table.shape, index.shape)
        if at_once is None:
            found = _weighted_sum(table, index, share)
        else:
            kernel = partial(pallas_kernels.weighted_rows, at_once)
            found = pallas_kernels.select_kernel(table, kernel, _weighted_sum, table, index, share)
        return found, (index, share, table[:, :0])

    def backward(kept: Any, gradient: Tensor) -> tuple[Tensor, None, Tensor]:
        index, share, like = kept
        parts = gradient.astype(jnp.float32)[:, None, :] * share[:, :, None]
        empty = jnp.zeros((like.shape[0], gradient.shape[1]), jnp.float32)
        summed = empty.at[index.reshape(-1)].add(
            parts.reshape(-1, gradient.shape[1]), mode="promise_in_bounds"
        )
        return summed.astype(like.dtype), None, jnp.zeros_like(share)

    function = jax.custom_vjp(lambda table, index, share: forward(table, index, share)[0])
    function.defvjp(forward, backward)
    return function
