"""Rows sent through a Keras model: activations as it predicts, gradients of its compiled loss as it trains.

Keras 3 has a scope in which variables are written nowhere; what a step of training changes (moving means, seeds,
metrics) stays as it is. Keras 2 has none: there the gradients are those of a model that predicts.
"""

from __future__ import annotations

import contextlib
import math
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from ..runtime.nested_values import leaves
from . import layer_statistics, looked_at
from .gradients import gradients_of
from .recorded_rows import Rows
from .weight_sample import names_of

_MOST_LISTED = 150  # layers and variables
#: Layers that compute nothing by themselves, or only pass on.
_PASSING = ("InputLayer", "Flatten", "Reshape", "Permute")


@dataclass
class Seen:
    activations: list[dict[str, Any]] = field(default_factory=list)
    gradients: list[dict[str, Any]] = field(default_factory=list)
    predictions: list[tuple[str, Any]] = field(default_factory=list)
    loss: float | None = None
    loss_inference: float | None = None
    penalty: float | None = None
    left_out: str = ""


def look(model: Any, rows: Rows) -> Seen:
    seen = Seen()
    scope = _scope_kind(model)
    with _losses_kept(model):
        outputs, by_layer = _predicted(model, rows, scope)
        seen.activations = [one for one in (_measured(*pair) for pair in by_layer) if one is not None]
        # Keras sorts the names of its outputs; a dictionary of outputs keeps the order in which it was written.
        named = outputs if isinstance(outputs, dict) else getattr(model, "output_names", None) or []
        names = [str(name) for name in named]
        arrays = [to_numpy(one) for one in leaves(outputs)]
        seen.predictions = [
            (names[place] if len(arrays) > 1 and place < len(names) else "", array)
            for place, array in enumerate(arrays)
        ]
        seen.left_out = own_loss(model)
        if not seen.left_out:
            _measure_gradients(model, rows, scope, seen)
    return seen


def _scope_kind(model: Any) -> Any:
    module = sys.modules.get("keras.src.backend.common.stateless_scope")
    return getattr(module, "StatelessScope", None) if hasattr(model, "stateless_call") else None


def own_loss(model: Any) -> str:
    """Why the loss of the training is not known here."""
    for name in ("train_step", "compute_loss"):
        if looked_at.is_users(getattr(type(model), name, None)):
            return f"{name} is a method of your own"
    loss = getattr(getattr(model, "_compile_loss", None), "_user_loss", None) or getattr(model, "loss", None)
    if loss is None:
        return "the model was compiled without a loss"
    for one in leaves(loss):
        if looked_at.is_users(one) or looked_at.is_users(getattr(one, "fn", None)):
            return "the loss is a function of your own"
    return ""


def _measure_gradients(model: Any, rows: Rows, scope: Any, seen: Seen) -> None:
    """A backend without eager gradients of this kind, or a loss that refuses the rows, costs only the gradients."""
    try:
        found = gradients_of(model, rows, scope)
    except Exception as error:
        seen.left_out = f"{type(error).__name__}: {error}"[:200]
        return
    seen.loss, seen.penalty, seen.loss_inference = found.loss, found.penalty, found.loss_inference
    listed = []
    for variable, norm, weight_norm in found.norms[:_MOST_LISTED]:
        name, layer = names_of(variable)
        listed.append(
            {"name": name, "layer": layer, "norm": _short(norm), "weight_norm": _short(weight_norm)}
        )
    seen.gradients = listed


def _predicted(model: Any, rows: Rows, scope: Any) -> tuple[Any, list[tuple[Any, Any]]]:
    """What the model and each of its layers give. JAX compiles every single operation, so there all are one."""
    jax = sys.modules.get("jax") if scope and sys.modules["keras"].backend.backend() == "jax" else None
    layers: list[Any] = []

    def call(inputs: Any) -> tuple[Any, list[Any]]:
        with scope() if scope else contextlib.nullcontext(), _observed(model) as by_layer:
            outputs = model(inputs, training=False)
        layers[:] = [layer for layer, _ in by_layer]
        return outputs, [output for _, output in by_layer]

    if jax is not None:
        call = getattr(jax.jit, "_holdfast_original", jax.jit)(call)
    outputs, given = call(rows.inputs)
    return outputs, list(zip(layers, given))


@contextlib.contextmanager
def _observed(model: Any) -> Iterator[list[tuple[Any, Any]]]:
    """Each layer's `call` is replaced on the object itself while it lasts, to keep its output."""
    watched = [
        layer
        for layer in model._flatten_layers(include_self=False)
        if not getattr(layer, "layers", None)
        and type(layer).__name__ not in _PASSING
        and "call" not in vars(layer)
    ][:_MOST_LISTED]
    kept: list[tuple[Any, Any]] = []
    try:
        for layer in watched:
            vars(layer)["call"] = _keeping(layer, layer.call, kept)
        yield kept
    finally:
        for layer in watched:
            vars(layer).pop("call", None)


def _keeping(layer: Any, call: Any, kept: list[tuple[Any, Any]]) -> Any:
    def called(*args: Any, **kwargs: Any) -> Any:
        result = call(*args, **kwargs)
        if len(getattr(result, "shape", ())) > 1:  # not of several outputs
            kept.append((layer, result))
        return result

    return called


def _measured(layer: Any, output: Any) -> dict[str, Any] | None:
    """None for a value inside a loop that the framework compiles."""
    activation = looked_at.activation_of(layer)
    first = getattr(layer, "data_format", None) == "channels_first"
    try:
        numbers = layer_statistics.of_layer(to_numpy(output), activation, first)
    except Exception:
        return None
    about = {"name": str(layer.name), "kind": type(layer).__name__, "activation": activation}
    rate = getattr(layer, "rate", None)
    return {**about, **numbers, **({"rate": rate} if isinstance(rate, float) else {})}


@contextlib.contextmanager
def _losses_kept(model: Any) -> Iterator[None]:
    """Losses that layers added in the last step: another call of the model would clear them."""
    kept = [
        (vars(layer)[name], list(vars(layer)[name]))
        for layer in [model, *list(model._flatten_layers(include_self=False))]
        for name in ("_losses", "_loss_ids", "_eager_losses")
        if isinstance(vars(layer).get(name), (list, set))
    ]
    try:
        yield
    finally:
        for container, before in kept:
            container.clear()
            container.update(before) if isinstance(container, set) else container.extend(before)


def to_numpy(value: Any) -> Any:
    import numpy as np

    if hasattr(value, "detach"):
        value = value.detach().float().cpu()
    return np.asarray(value)


def _short(value: float | None) -> float | None:
    return float(f"{value:.4g}") if value is not None and math.isfinite(value) else None
