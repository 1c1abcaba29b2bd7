"""Convolutions over images, whose three channels are too few for a matrix unit: the same sums, laid out for one.

Seven by seven with a stride of two: each two by two pixels become one cell of twelve channels, the kernel four by four
over those. Three by three: the nine neighbours of a pixel become its channels, and the convolution a matrix product.
All are filled with zeros to a width that loads in whole words. Only for JAX, where all of it fuses with the
preparation of the images.
"""

from __future__ import annotations

from typing import Any

import keras
from keras import ops

from holdfast.detectors.fusion.dilated_conv import can_use_matrix_product, dilated_convolution

Tensor = Any

MAX_INPUT_CHANNELS = 4
CHANNEL_MULTIPLE = 16  # channels are filled up to a multiple of it


def convolve(x: Tensor, kernel: Tensor, *, strides: Any, padding: str, dilation_rate: Any) -> Tensor:
    """`ops.conv`, channels last."""
    stride, size = tuple(strides), tuple(kernel.shape[:2])
    if (
        keras.backend.backend() == "jax"
        and x.shape[-1] <= MAX_INPUT_CHANNELS
        and tuple(dilation_rate) == (1, 1)
    ):
        if stride == (2, 2) and padding == "valid" and size[0] == size[1]:
            return _space_to_depth_conv(x, kernel)
        if stride == (1, 1) and padding == "same" and size == (3, 3):
            return _im2col_conv(x, kernel)
    if keras.backend.backend() == "jax" and can_use_matrix_product(
        x, kernel, stride, padding, tuple(dilation_rate)
    ):
        return dilated_convolution(x, kernel, dilation_rate[0])
    return ops.conv(x, kernel, strides, padding, dilation_rate=dilation_rate, data_format="channels_last")


def _space_to_depth_conv(x: Tensor, kernel: Tensor) -> Tensor:
    _, height, width, channels = x.shape
    size, outputs = kernel.shape[0], kernel.shape[-1]
    rows, columns = ((side - size) // 2 + 1 for side in (height, width))
    half, cells = -(-size // 2), [-(-side // 2) for side in (height, width)]
    x = ops.pad(x, ((0, 0), (0, 2 * cells[0] - height), (0, 2 * cells[1] - width), (0, 0)))
    x = ops.reshape(x, (-1, cells[0], 2, cells[1], 2, channels))
    x = ops.reshape(ops.transpose(x, (0, 1, 3, 2, 4, 5)), (-1, *cells, 4 * channels))
    kernel = ops.pad(kernel, ((0, 2 * half - size), (0, 2 * half - size), (0, 0), (0, 0)))
    kernel = ops.reshape(kernel, (half, 2, half, 2, channels, outputs))
    kernel = ops.reshape(ops.transpose(kernel, (0, 2, 1, 3, 4, 5)), (half, half, 4 * channels, outputs))
    x = ops.conv(*_pad_channels(x, kernel), padding="valid", data_format="channels_last")
    return x[:, :rows, :columns]


def paired_space_to_depth_conv(x: Tensor, kernel: Tensor) -> Tensor:
    """A convolution with a stride of two and no padding whose result, (b, 2h, 2w, c), is given as (b, h, w, 4 c), two
    by two pixels in a cell: four by four pixels of an image are a cell's channels, and the outputs four times as
    many, which is as wide as a matrix unit wants them. JAX only; see `can_be_in_fours`."""
    _, height, width, channels = x.shape
    size, outputs = kernel.shape[0], kernel.shape[-1]
    rows, columns = ((side - size) // 4 + 1 for side in (height, width))
    x = ops.pad(x, ((0, 0), (0, max(0, 4 * rows + 8 - height)), (0, max(0, 4 * columns + 8 - width)), (0, 0)))
    x = x[:, : 4 * rows + 8, : 4 * columns + 8]
    x = ops.reshape(x, (-1, rows + 2, 4, columns + 2, 4, channels))
    x = ops.reshape(ops.transpose(x, (0, 1, 3, 2, 4, 5)), (-1, rows + 2, columns + 2, 16 * channels))
    fours = []
    for down in (0, 2):
        for along in (0, 2):
            edges = ((down, 12 - size - down), (along, 12 - size - along), (0, 0), (0, 0))
            wide = ops.reshape(ops.pad(kernel, edges), (3, 4, 3, 4, channels, outputs))
            fours.append(ops.reshape(ops.transpose(wide, (0, 2, 1, 3, 4, 5)), (3, 3, 16 * channels, outputs)))
    return ops.conv(
        *_pad_channels(x, ops.concatenate(fours, axis=-1)), padding="valid", data_format="channels_last"
    )


def can_pair_space_to_depth(conv: Any) -> bool:
    """Over an image, seven by seven or so, and with sides that come out even."""
    _, height, width, channels = conv.input.shape
    size = conv.kernel_size
    if channels > MAX_INPUT_CHANNELS or tuple(conv.strides) != (2, 2) or tuple(conv.dilation_rate) != (1, 1):
        return False
    if conv.padding != "valid" or conv.groups != 1 or size[0] != size[1] or not 5 <= size[0] <= 9:
        return False
    return all(side is not None and ((side - size[0]) // 2 + 1) % 2 == 0 for side in (height, width))


def _im2col_conv(x: Tensor, kernel: Tensor) -> Tensor:
    height, width, outputs = x.shape[1], x.shape[2], kernel.shape[-1]
    # Prepared images are written once, else each would be prepared again for all of its nine neighbours.
    wide = _barrier(ops.pad(x, ((0, 0), (1, 1), (1, 1), (0, 0))))
    around = [wide[:, i : i + height, j : j + width] for i in range(3) for j in range(3)]
    kernel = ops.reshape(kernel, (1, 1, -1, outputs))
    return ops.conv(
        *_pad_channels(ops.concatenate(around, axis=-1), kernel), padding="valid", data_format="channels_last"
    )


def _pad_channels(x: Tensor, kernel: Tensor) -> tuple[Tensor, Tensor]:
    missing = -x.shape[-1] % CHANNEL_MULTIPLE
    return (
        ops.pad(x, ((0, 0), (0, 0), (0, 0), (0, missing))),
        ops.pad(kernel, ((0, 0), (0, 0), (0, missing), (0, 0))),
    )


def _barrier(x: Tensor) -> Tensor:
    import jax

    return jax.lax.optimization_barrier(x)
