"""Gradients of a compiled loss, taken without a step, in Keras 3 on each of its backends and in Keras 2."""

from __future__ import annotations

import sys
from typing import Any, NamedTuple

from ..runtime.nested_values import leaves
from .recorded_rows import Rows, mapped

_MOST_JAX_LAYERS = 30  # each operation is compiled by itself there


class Gradients(NamedTuple):
    norms: list[tuple[Any, float, float]]  # variable, norm of its gradient, norm of its values
    loss: float
    penalty: float | None
    loss_inference: float | None


def gradients_of(model: Any, rows: Rows, scope: Any) -> Gradients:
    if scope is None:
        return _keras2(model, rows)
    backend = sys.modules["keras"].backend.backend()
    if backend == "tensorflow":
        return _tensorflow(model, rows, scope)
    if backend == "torch":
        return _torch(model, rows, scope)
    if backend == "jax":
        return _jax(model, rows, scope)
    raise NotImplementedError(f"gradients with the backend {backend}")


def _losses(model: Any, rows: Rows, scope: Any, values: list[Any], training: bool) -> tuple[Any, Any]:
    """The whole loss and the part that regularisers add, with these values in place of the trainable variables."""
    variables = list(model.trainable_variables)
    with scope(state_mapping=list(zip(variables, values)), collect_losses=True):
        outputs = model(rows.inputs, training=training)
        loss = model._compile_loss(_like_inputs(rows.targets), outputs)
        penalty = None
        for part in model.losses:
            penalty = part if penalty is None else penalty + part
    return (loss if penalty is None else loss + penalty), penalty


def _like_inputs(targets: Any) -> Any:
    convert = sys.modules["keras"].ops.convert_to_tensor
    return mapped(convert, targets)


def _tensorflow(model: Any, rows: Rows, scope: Any) -> Gradients:
    import tensorflow as tf

    variables = list(model.trainable_variables)
    values = [tf.convert_to_tensor(variable._value) for variable in variables]
    with tf.GradientTape(watch_accessed_variables=False) as tape:
        tape.watch(values)
        loss, penalty = _losses(model, rows, scope, values, True)
    found = _original(tape.gradient)(tape, loss, values)
    norms = [_norms_tf(tf, *one) for one in zip(variables, found, values)]
    inference, _ = _losses(model, rows, scope, values, False)
    return Gradients(norms, float(loss), None if penalty is None else float(penalty), float(inference))


def _original(method: Any) -> Any:
    """Of a method that the probe observes: this gradient is none of the user's."""
    function = method.__func__
    return getattr(function, "_holdfast_original", function)


def _norms_tf(tf: Any, variable: Any, gradient: Any, value: Any) -> tuple[Any, float, float]:
    dense = getattr(gradient, "values", gradient)
    norm = 0.0 if gradient is None else float(tf.norm(tf.cast(dense, "float32")))
    return variable, norm, float(tf.norm(tf.cast(value, "float32")))


def _torch(model: Any, rows: Rows, scope: Any) -> Gradients:
    import torch

    variables = list(model.trainable_variables)
    with torch.enable_grad():
        values = [variable.value.detach().requires_grad_(True) for variable in variables]
        loss, penalty = _losses(model, rows, scope, values, True)
        found = torch.autograd.grad(loss, values, allow_unused=True)
    with torch.no_grad():
        inference, _ = _losses(model, rows, scope, values, False)
    norms = [
        (
            variable,
            0.0 if gradient is None else float(gradient.float().norm()),
            float(value.detach().float().norm()),
        )
        for variable, gradient, value in zip(variables, found, values)
    ]
    return Gradients(
        norms, float(loss.detach()), None if penalty is None else float(penalty), float(inference)
    )


def _jax(model: Any, rows: Rows, scope: Any) -> Gradients:
    import jax
    import jax.numpy as jnp

    if len(list(model._flatten_layers(include_self=False))) > _MOST_JAX_LAYERS:
        raise NotImplementedError("gradients of so many layers on JAX")
    variables = list(model.trainable_variables)
    values = [variable.value for variable in variables]

    def whole(given: list[Any]) -> tuple[Any, Any]:
        return _losses(model, rows, scope, given, True)

    compiled = getattr(
        jax.jit, "_holdfast_original", jax.jit
    )  # each operation by itself would be compiled too
    (loss, penalty), found = compiled(jax.value_and_grad(whole, has_aux=True))(values)
    inference, _ = compiled(lambda given: _losses(model, rows, scope, given, False))(values)
    norms = [
        (variable, float(jnp.linalg.norm(gradient)), float(jnp.linalg.norm(value.reshape(-1))))
        for variable, gradient, value in zip(variables, (one.reshape(-1) for one in found), values)
    ]
    return Gradients(norms, float(loss), None if penalty is None else float(penalty), float(inference))


def _keras2(model: Any, rows: Rows) -> Gradients:
    """As the model predicts: its moving means and the generators of its dropout are not to change."""
    import tensorflow as tf

    functions = [one for one in leaves(model.compiled_loss._losses) if one is not None]
    variables = list(model.trainable_variables)

    def column(target: Any) -> Any:
        tensor = tf.convert_to_tensor(target)
        return tensor[:, None] if len(tensor.shape) == 1 else tensor

    with tf.GradientTape() as tape:
        outputs = leaves(model(rows.inputs, training=False))
        targets = [column(target) for target in leaves(rows.targets)]
        if not len(outputs) == len(targets) == len(functions):
            raise ValueError("outputs, targets and losses are not as many")
        loss = tf.add_n([tf.cast(f(t, o), "float32") for f, t, o in zip(functions, targets, outputs)])
        penalty = tf.add_n([tf.cast(one, "float32") for one in model.losses]) if model.losses else None
        total = loss if penalty is None else loss + penalty
    found = _original(tape.gradient)(tape, total, variables)
    norms = [_norms_tf(tf, variable, gradient, variable) for variable, gradient in zip(variables, found)]
    return Gradients(norms, float(total), None if penalty is None else float(penalty), None)
