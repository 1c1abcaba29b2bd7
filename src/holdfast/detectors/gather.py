"""Rows of a batched table, picked by index, as one flat gather on every backend."""

from __future__ import annotations

from typing import Any

from keras import ops

Tensor = Any


def rows(table: Tensor, index_bk: Tensor) -> Tensor:
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
