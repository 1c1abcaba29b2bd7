"""Computing a block twice instead of keeping what it computed: less memory, somewhat slower, the same gradient.

Keras' own `RematScope` stops on batch normalisation (3.15, both backends), and `keras.remat` around a closure
loses the gradient of weights that are tensors, as ours are inside a compiled TensorFlow step. So the block's
variables are handed to the checkpointed function as arguments, which both backends differentiate.
"""

from __future__ import annotations

import contextlib
from typing import Any

import keras
from keras.src import backend  # the scope has no public name

Tensor = Any


def rematerialised(layer: keras.layers.Layer, x: Tensor, **how: Any) -> Tensor:
    """`layer(x, **how)`; its inside is not kept for the backward pass but computed again there.

    The layer may not change its variables when called (frozen or group normalisation, no dropout).
    """
    if isinstance(x, keras.KerasTensor):
        return layer(x, **how)
    variables = list(layer.variables)
    around = backend.get_autocast_scope()

    def forward(x: Tensor, *values: Tensor) -> Tensor:
        with full_precision():
            scope = keras.StatelessScope(state_mapping=list(zip(variables, values, strict=True)))
        with scope, _under_policy(around):
            return layer(x, **how)

    with full_precision():
        values = [keras.ops.convert_to_tensor(variable.value) for variable in variables]
    return _checkpointed(forward)(x, *values)


def full_precision() -> Any:
    """Weights as they are, whatever the layer around casts to: a block may fold them before it casts them."""
    return backend.AutocastScope(None)


def _under_policy(around: Any) -> Any:
    """TensorFlow computes the block again outside of the layers that call it, whose casting it must still see."""
    return backend.AutocastScope(around.dtype) if around is not None else contextlib.nullcontext()


def _checkpointed(function: Any) -> Any:
    if keras.backend.backend() == "jax":
        import jax

        return jax.checkpoint(function)
    import tensorflow as tf

    return tf.recompute_grad(function)
