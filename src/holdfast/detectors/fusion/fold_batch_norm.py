"""A convolution whose batch normalisation, of stored statistics, is multiplied into its kernel and its bias."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from keras import layers, ops

from holdfast.detectors.fusion.layer_graph import on_jax
from holdfast.detectors.fusion.stem_layouts import convolve

Tensor = Any


def folded_convolution(conv: Any, norm: Any = None, how: Any = None) -> Callable[[Tensor], Tensor]:
    """Without the bias. `how` makes it of images and kernel, in place of the plain way."""
    depthwise = isinstance(conv, layers.DepthwiseConv2D)
    strides = (1, 1) if on_jax() and conv.kernel_size == (1, 1) else conv.strides  # taken before

    def run(x: Tensor) -> Tensor:
        kernel = ops.convert_to_tensor(conv.kernel)
        if norm is not None:
            scale, _ = scale_and_shift(norm)
            kernel = kernel * (ops.reshape(scale, (1, 1, -1, conv.depth_multiplier)) if depthwise else scale)
        x, kernel = ops.cast(x, conv.compute_dtype), ops.cast(kernel, conv.compute_dtype)
        if how is not None:
            return how(x, kernel)
        rest = {"strides": strides, "padding": conv.padding, "dilation_rate": conv.dilation_rate}
        if depthwise:
            return ops.depthwise_conv(x, kernel, data_format="channels_last", **rest)
        return convolve(x, kernel, **rest)

    return run


def folded_bias(conv: Any, norm: Any) -> Callable[[], Tensor]:
    def value() -> Tensor:
        if norm is None:
            return ops.convert_to_tensor(conv.bias)
        scale, shift = scale_and_shift(norm)
        return shift if conv.bias is None else shift + conv.bias * scale

    return value


def scale_and_shift(norm: Any) -> tuple[Tensor, Tensor]:
    """What stored statistics, scale and centre come to: y = x * scale + shift."""
    scale = ops.rsqrt(ops.convert_to_tensor(norm.moving_variance) + norm.epsilon)
    if norm.scale:
        scale = scale * norm.gamma
    shift = -norm.moving_mean * scale
    return scale, shift + norm.beta if norm.center else shift
