"""VGG's first two convolutions with two neighbours of a row in a cell: 128 channels where a pixel has 64, which is what
matrix units are as fast with as with any. The same sums, with zeros between. Only for JAX.

The first convolution reads three by four pixels for each pair, and gives a pair of zeros before and behind each row, as
padding: compilers know the gradient of what is not padded. The second reads two pairs in each of three rows and
makes the pair in the middle of them, so its pairs lie one pixel further left than those it reads, and there is one more
of them in a row: pixels beside the image, which `pooling.max_pool_of_pairs` does not look at.
"""

# mypy: allow-untyped-calls, allow-untyped-decorators

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np

from holdfast.detectors.fusion.stem_layouts import CHANNEL_MULTIPLE

Tensor = Any

EDGE_MARK = -3e4  # times one, beside sums of images' and of weights' size; float16 has it too


def pair_neighbourhoods(x: Tensor) -> Tensor:
    """(b, h, w, c) to (b, h, w / 2 + 2, 12 c and more): three by four pixels around each pair; then a number that is 1
    for the pairs before and behind each row, and zeros."""
    return _pair_neighbourhoods()(x)


@cache
def _pair_neighbourhoods() -> Any:
    import functools

    import jax
    import jax.numpy as jnp

    from holdfast.detectors.fusion import stem_kernels
    from holdfast.detectors.ops import pallas_kernels

    def plain(x: Tensor) -> Tensor:
        batch, height, width, channels = x.shape
        wide = jnp.pad(x, ((0, 0), (1, 1), (1, 1), (0, 0)))
        cells = wide.reshape(batch, height + 2, width // 2 + 1, 2 * channels)
        parts = [cells[:, i : i + height, j : j + width // 2] for i in range(3) for j in range(2)]
        missing = _width(channels) - 12 * channels
        inside = jnp.pad(jnp.concatenate(parts, axis=-1), ((0, 0), (0, 0), (1, 1), (0, missing)))
        edge = np.zeros((width // 2 + 2, _width(channels)), np.float32)
        edge[[0, -1], 12 * channels] = 1.0
        return inside + jnp.asarray(edge, x.dtype)

    def value(x: Tensor) -> Tensor:
        # Prepared images are written once, else each would be prepared again for every neighbour.
        x = jax.lax.optimization_barrier(x)
        out = (*x.shape[:2], x.shape[2] // 2 + 2, _width(x.shape[-1]))
        if not isinstance(out[0], int) or math.prod(out) >= 2**31:  # a model that is built has no batch yet
            return plain(x)
        return pallas_kernels.select_kernel(
            x, functools.partial(stem_kernels.pair_neighbourhoods, out), plain, x
        )

    def forward(x: Tensor) -> tuple[Tensor, Tensor]:
        return value(x), x

    def backward(x: Tensor, gradient: Tensor) -> tuple[Tensor]:
        return jax.vjp(plain, x)[1](gradient)  # nobody asks, as a rule

    function = jax.custom_vjp(value)
    function.defvjp(forward, backward)
    return function


def _width(channels: int) -> int:
    """With room for the number that marks an edge."""
    return -(-(12 * channels + 1) // CHANNEL_MULTIPLE) * CHANNEL_MULTIPLE


def first_kernel(kernel: Tensor) -> Tensor:
    """(3, 3, c, o) to (1, 1, 12 c and more, 2 o). What marks an edge makes a sum so small that a ReLU gives zero."""
    import jax.numpy as jnp

    _, _, channels, outputs = kernel.shape
    moved = [jnp.pad(kernel, ((0, 0), (by, 1 - by), (0, 0), (0, 0))) for by in range(2)]
    wide = jnp.stack(moved, axis=3).reshape(12 * channels, 2 * outputs)
    edge = jnp.full((1, 2 * outputs), EDGE_MARK, kernel.dtype)
    rest = jnp.zeros((_width(channels) - 12 * channels - 1, 2 * outputs), kernel.dtype)
    return jnp.concatenate([wide, edge, rest])[None, None]


def second_kernel(kernel: Tensor) -> Tensor:
    """(3, 3, c, o) to (3, 2, 2 c, 2 o): from pixel s of pair d to pixel t of the pair between, column 2 d + s - t."""
    import jax.numpy as jnp

    _, _, channels, outputs = kernel.shape
    none = jnp.zeros_like(kernel[:, 0])
    at = [kernel[:, 0], kernel[:, 1], kernel[:, 2], none]  # the last: also of -1
    wide = jnp.stack([jnp.stack([jnp.stack([at[2 * d + s - t] for t in range(2)], axis=2) for s in range(2)], axis=1)
                      for d in range(2)], axis=1)  # fmt: skip
    return wide.reshape(3, 2, 2 * channels, 2 * outputs)


def first_convolution(x: Tensor, kernel: Tensor, bias: Tensor) -> Tensor:
    """The convolution of images, its bias and its ReLU: (b, h, w / 2 + 2, 2 o), of which the first and the last of a
    row are zeros."""
    import jax.numpy as jnp

    return _biased_product()(
        pair_neighbourhoods(x), first_kernel(kernel), jnp.concatenate([bias, bias]).astype(jnp.float32)
    )


def second_convolution(x: Tensor, kernel: Tensor) -> Tensor:
    """Over `first`'s: (b, h, w / 2 + 1, 2 o), without a bias."""
    return _convolution(x, second_kernel(kernel), ((1, 1), (0, 0)))


def can_pair(conv: Any) -> bool:
    """Three by three around each pixel of a map with an even width."""
    width = conv.input.shape[2]
    plain = (tuple(conv.strides), tuple(conv.dilation_rate), conv.padding) == ((1, 1), (1, 1), "same")
    return plain and conv.groups == 1 and conv.kernel_size == (3, 3) and width is not None and width % 2 == 0


def _convolution(x: Tensor, kernel: Tensor, padding: Any) -> Tensor:
    from jax import lax

    return lax.conv_general_dilated(x, kernel, (1, 1), padding, dimension_numbers=("NHWC", "HWIO", "NHWC"))


@cache
def _biased_product() -> Any:
    """With a gradient that reads the map and what came back for it once: images need none themselves, so what the
    ReLU lets through is never written."""
    import functools

    import jax
    import jax.numpy as jnp

    from holdfast.detectors.fusion import stem_kernels
    from holdfast.detectors.ops import pallas_kernels

    def value(x: Tensor, kernel: Tensor, bias: Tensor) -> Tensor:
        return jnp.maximum(_convolution(x, kernel, "VALID") + bias.astype(x.dtype), 0)

    def forward(x: Tensor, kernel: Tensor, bias: Tensor) -> tuple[Tensor, Any]:
        y = value(x, kernel, bias)
        return y, (x, kernel, y)

    def backward(kept: Any, gradient: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        x, kernel, y = kept
        tiles = stem_kernels.stem_tiles_of(x.shape, gradient.shape)
        if tiles is None:
            of_kernel, of_bias = plain(x, y, gradient)
        else:
            fused = functools.partial(stem_kernels.kernel_and_bias_gradient, tiles)
            of_kernel, of_bias = pallas_kernels.select_kernel(gradient, fused, plain, x, y, gradient)
        back = jax.linear_transpose(lambda x: _convolution(x, kernel, "VALID"), x)  # nobody asks, as a rule
        (of_x,) = back(jnp.where(y != 0, gradient, jnp.zeros_like(gradient)))
        return of_x, of_kernel.reshape(kernel.shape).astype(kernel.dtype), of_bias

    def plain(x: Tensor, y: Tensor, gradient: Tensor) -> tuple[Tensor, Tensor]:
        passed = jnp.where(y != 0, gradient, jnp.zeros_like(gradient))
        of_kernel = jnp.einsum("bhwk,bhwo->ko", x, passed, preferred_element_type=jnp.float32)
        return of_kernel, jnp.sum(passed, axis=(0, 1, 2), dtype=jnp.float32)

    function = jax.custom_vjp(value)
    function.defvjp(forward, backward)
    return function
