"""ReLU whose gradient looks at what it gave, not at what it got.

Both say the same (y > 0 exactly where x > 0), but the output is kept for the next layer anyway, so the input need
not be: less memory, and on JAX a convolution, its bias and the ReLU can become one kernel. TensorFlow's own is so.
"""

# mypy: allow-subclassing-any, allow-untyped-calls

from __future__ import annotations

from typing import Any

import keras
from keras import layers, ops

Tensor = Any


def _of_output(most: float | None) -> Any:
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


_RELU, _RELU6 = _of_output(None), _of_output(6.0)


def relu(x: Tensor) -> Tensor:
    return _RELU(x)


def relu6(x: Tensor) -> Tensor:
    return _RELU6(x)


class Relu(layers.ReLU):
    """The same as a layer."""

    def call(self, inputs: Tensor) -> Tensor:
        return relu(inputs)
