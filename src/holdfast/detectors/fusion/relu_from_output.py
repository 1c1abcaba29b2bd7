"""Bias and ReLU whose gradient looks at what came out, not at what went in.

Both say the same (y > 0 exactly where x > 0), but the output is kept for the next layer anyway, so the input need
not be: less memory, and on JAX a convolution, its bias and the ReLU can become one kernel. TensorFlow's own is so.
"""

# mypy: allow-subclassing-any, allow-untyped-calls

from __future__ import annotations

from functools import cache
from typing import Any

import keras
from keras import layers, ops

Tensor = Any


def _relu_from_output(most: float | None) -> Any:
    if keras.backend.backend() != "jax":
        return ops.relu if most is None else ops.relu6
    import jax
    import jax.numpy as jnp

    def value(x: Tensor) -> Tensor:
        return jnp.maximum(x, 0) if most is None else jnp.clip(x, 0, most)

    def forward(x: Tensor) -> tuple[Tensor, Tensor]:
        y = value(x)
        return y, y

    def backward(y: Tensor, gradient: Tensor) -> tuple[Tensor]:
        # `y > 0` would be turned by XLA into `x > 0`, and x be kept after all.
        passes = y != 0 if most is None else (y != 0) & (y != most)
        return (jnp.where(passes, gradient, jnp.zeros_like(gradient)),)

    function = jax.custom_vjp(value)
    function.defvjp(forward, backward)
    return function


_RELU, _RELU6 = _relu_from_output(None), _relu_from_output(6.0)


def relu(x: Tensor) -> Tensor:
    return _RELU(x)


def relu6(x: Tensor) -> Tensor:
    return _RELU6(x)


def biased(x: Tensor, bias: Tensor, *, active: bool = False) -> Tensor:
    """`x + bias` by channel, and the ReLU of it if `active`. The bias's gradient is summed in float32."""
    if keras.backend.backend() == "jax":
        return _jax_biased(active)(x, ops.cast(bias, "float32"))
    x = x + ops.cast(bias, x.dtype)
    return relu(x) if active else x


@cache
def _jax_biased(active: bool) -> Any:
    import jax
    import jax.numpy as jnp

    from holdfast.detectors.fusion.bias_gradient import relu_gradient_and_sums, sums

    def value(x: Tensor, bias: Tensor) -> Tensor:
        x = x + bias.astype(x.dtype)
        return jnp.maximum(x, 0) if active else x

    def forward(x: Tensor, bias: Tensor) -> tuple[Tensor, Tensor]:
        y = value(x, bias)
        return y, y if active else None

    def backward(y: Tensor, gradient: Tensor) -> tuple[Tensor, Tensor]:
        return relu_gradient_and_sums(y, gradient) if active else (gradient, sums(gradient))

    function = jax.custom_vjp(value)
    function.defvjp(forward, backward)
    return function


class Relu(layers.ReLU):
    """The same as a layer."""

    def call(self, inputs: Tensor) -> Tensor:
        return relu(inputs)
