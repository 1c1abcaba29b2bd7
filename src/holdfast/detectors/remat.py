"""Computing a block twice instead of keeping what it computed: less memory, somewhat slower, the same gradient.

Keras' own `RematScope` stops on batch normalisation (3.15, both backends), and `keras.remat` around a closure
loses the gradient of weights that are tensors, as ours are inside a compiled TensorFlow step. So the block's
variables are handed to the checkpointed function as arguments, which both backends differentiate.
"""

from __future__ import annotations

from typing import Any

import keras

Tensor = Any


def rematerialised(layer: keras.layers.Layer, x: Tensor, **how: Any) -> Tensor:
    """`layer(x, **how)`; its inside is not kept for the backward pass but computed again there.

    The layer may not change its variables when called (frozen or group normalisation, no dropout).
    """
    if isinstance(x, keras.KerasTensor):
        return layer(x, **how)
    variables = list(layer.variables)

    def forward(x: Tensor, *values: Tensor) -> Tensor:
        with keras.StatelessScope(state_mapping=list(zip(variables, values, strict=True))):
            return layer(x, **how)

    # Inside a mixed-precision layer the values come in half precision, as the layer would read them anyway.
    return _checkpointed(forward)(x, *(keras.ops.convert_to_tensor(variable.value) for variable in variables))


def _checkpointed(function: Any) -> Any:
    if keras.backend.backend() == "jax":
        import jax

        return jax.checkpoint(function)
    import tensorflow as tf

    return tf.recompute_grad(function)
