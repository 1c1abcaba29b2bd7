"""What a model is, read from its attributes."""

from __future__ import annotations

import math
import sys
import weakref
from collections import Counter
from types import SimpleNamespace
from typing import Any

from ...journal.events import ModelSeen
from ..runtime import user_lines
from ..runtime.context import ProbeContext
from ..runtime.wrapping import observe
from . import finiteness

PART = "model_facts"
_ALWAYS_FIRST = 50  # events; its learning rate may be another one at each epoch


def watch_compile(context: ProbeContext, kind: Any) -> None:
    observe(
        context, kind, "compile", PART,
        before=lambda args, kwargs: (args[0], user_lines.caller_line()),
        after=lambda token, _: context.models.record(token[0], token[1]) if token else None,
    )  # fmt: skip


def watch_creation(context: ProbeContext, kind: Any) -> None:
    observe(context, kind, "__init__", PART, before=lambda args, kwargs: context.models.alive.add(args[0]))


class LiveModels:
    """Which models there are, by weak references. To ask the garbage collector for its objects instead would lend a
    tuple that another thread is just building, and break that thread ("bad argument to internal function")."""

    def __init__(self) -> None:
        self._models: dict[int, weakref.ref[Any]] = {}

    def add(self, model: Any) -> None:
        key = id(model)
        self._models[key] = weakref.ref(model, lambda _: self._models.pop(key, None))

    def every(self) -> list[Any]:
        models = [reference() for reference in list(self._models.values())]
        return [model for model in models if model is not None]

    def counts(self) -> dict[str, int]:
        return {"Model": len(self._models)} if self._models else {}


class ModelLog:
    """The models of a process: which are alive, and what of each was recorded."""

    def __init__(self, context: ProbeContext) -> None:
        self._context = context
        self.alive = LiveModels()
        self._compiled_at: dict[int, str] = {}  # line, by the model's id
        self.new_run()

    def new_run(self) -> None:
        self._recorded: dict[int, tuple[Any, ...]] = {}
        self._events = 0

    def compiled_at(self, model: Any) -> str:
        """The user's line."""
        return self._compiled_at.get(id(model), "")

    def seen(self, model: Any) -> None:
        """A step of the model has run."""
        self._context.guard(PART, self.record, model)

    def record(self, model: Any, where: str = "") -> None:
        """What the model is, unless that is recorded and nothing has changed."""
        self.alive.add(model)
        event = describe(model, where or self._compiled_at.get(id(model), ""))
        key = (event.parameters, event.trainable_parameters, event.optimizer, event.loss, event.learning_rate)
        if self._recorded.get(id(model)) == key:
            return
        if where:
            self._compiled_at[id(model)] = where
        self._recorded[id(model)] = key
        self._events += 1
        if self._events <= _ALWAYS_FIRST or self._events & (self._events - 1) == 0:
            self._context.record(event)


def describe(model: Any, where: str) -> ModelSeen:
    optimizer = getattr(model, "optimizer", None)
    weights = list(_safely(lambda: model.weights) or [])
    trainable = list(_safely(lambda: model.trainable_variables) or [])
    every_layer = list(_safely(lambda: model._flatten_layers(include_self=False)) or [])
    return ModelSeen(
        name=str(getattr(model, "name", "")),
        parameters=sum(size(weight) for weight in weights),
        trainable_parameters=sum(size(weight) for weight in trainable),
        trainable_variables=len(trainable),
        layers=len(every_layer),
        layer_kinds=dict(Counter(type(layer).__name__ for layer in every_layer).most_common(30)),
        input_shape=_shape(_safely(lambda: model.input_shape)),
        output_shape=_shape(_safely(lambda: model.output_shape)),
        precision=precision(model),
        optimizer=type(optimizer).__name__ if optimizer is not None else "",
        learning_rate=learning_rate(model),
        learning_rate_schedule=_schedule(optimizer),
        optimizer_settings=_optimizer_settings(optimizer),
        loss=_loss_name(model),
        metrics=[str(name) for name in (_safely(lambda: model.metrics_names) or [])][:30],
        run_eagerly=_boolean(_safely(lambda: model.run_eagerly)),
        jit_compile=_json(_safely(lambda: model.jit_compile)),
        steps_per_execution=_whole(_safely(lambda: model.steps_per_execution)),
        where=where,
    )


def trainable_of(model: Any) -> list[Any]:
    return list(_safely(lambda: model.trainable_variables) or [])


class OptimizerModel:
    """Of a loop that has no model to show: the weights that its optimizer changes, as a model would have them."""

    name = ""

    def __init__(self, optimizer: Any) -> None:
        groups = getattr(optimizer, "param_groups", None)
        self._groups: list[dict[str, Any]] = groups if isinstance(groups, list) else []  # torch's have them
        self.optimizer = (
            SimpleNamespace(learning_rate=self._groups[0].get("lr")) if self._groups else optimizer
        )

    @property
    def trainable_variables(self) -> list[Any]:
        if self._groups:
            return [weight for group in self._groups for weight in group["params"]]
        own = self.optimizer
        return getattr(own, "_trainable_variables", None) or getattr(own, "_variables", None) or []


def learning_rate(model: Any) -> float | None:
    """Now; None where it cannot be read, as on JAX in the middle of an epoch."""
    optimizer = _inner(getattr(model, "optimizer", None))
    if optimizer is None:
        return None
    value = _safely(lambda: float(_plain(_current_rate(optimizer))))
    return value if value is None or math.isfinite(value) else None


def iterations(model: Any) -> int | None:
    optimizer = getattr(model, "optimizer", None)
    return iterations_of(optimizer) if optimizer is not None else None


def iterations_of(optimizer: Any) -> int | None:
    """Steps that it has counted. In Keras 2 asking for the count creates its variable, which may be too early."""
    own = getattr(_inner(optimizer), "__dict__", {})
    if "_iterations" in own and own["_iterations"] is None:
        return 0
    return _safely(lambda: int(_plain(optimizer.iterations)))


def _current_rate(optimizer: Any) -> Any:
    """In Keras 2 asking for it before the first step creates the variables of the optimizer."""
    own = getattr(optimizer, "__dict__", {})
    if own.get("_hypers_created") is False:
        return own.get("_hyper", {}).get("learning_rate")
    return optimizer.learning_rate


def precision(model: Any) -> str:
    """Of the model; of a loop that shows none, by its weights, or by what was set for all models."""
    policy = getattr(model, "dtype_policy", None) or getattr(model, "_dtype_policy", None)
    name = str(getattr(policy, "name", "") or "")
    if name or not isinstance(model, OptimizerModel):
        return name
    weight = next(iter(model.trainable_variables), None)
    kind = str(getattr(getattr(weight, "dtype", None), "name", None) or getattr(weight, "dtype", ""))
    return kind if "16" in kind else _policy_of_all() or kind


def _policy_of_all() -> str:
    keras = sys.modules.get("keras")
    policy = _safely(lambda: str(keras.config.dtype_policy().name)) if keras is not None else None
    return policy if policy and "16" in policy else ""


def loss_scale(model: Any) -> float | None:
    optimizer = getattr(model, "optimizer", None)
    scale = getattr(optimizer, "dynamic_scale", None)
    return _safely(lambda: float(_plain(scale))) if scale is not None else None


def fingerprint(model: Any) -> float | None:
    """A number that a step changes: the sum of the last small trainable weights. None where reading would wait."""

    def total() -> float | None:
        import numpy as np

        variables = [v for v in list(model.trainable_variables)[::-1] if size(v) <= 65536][:4]
        values = [finiteness.raw(variable) for variable in variables]
        if not values or not all(finiteness.in_host_memory(value) for value in values):
            return None
        with np.errstate(all="ignore"):
            sum_of_all = sum(float(np.sum(value.numpy().astype("float64"))) for value in values)
        return sum_of_all if math.isfinite(sum_of_all) else math.inf

    return _safely(total)


def size(variable: Any) -> int:
    total = 1
    for dimension in getattr(variable, "shape", ()) or ():
        total *= int(dimension or 0)
    return total


def _inner(optimizer: Any) -> Any:
    return getattr(optimizer, "inner_optimizer", optimizer)


def _schedule(optimizer: Any) -> str:
    schedule = getattr(_inner(optimizer), "_learning_rate", None)
    return (
        type(schedule).__name__
        if schedule is not None and hasattr(schedule, "get_config") and callable(schedule)
        else ""
    )


def _optimizer_settings(optimizer: Any) -> dict[str, Any]:
    config = _safely(lambda: optimizer.get_config()) if optimizer is not None else None
    if not isinstance(config, dict):
        return {}
    return {name: value for name, value in config.items() if isinstance(value, (str, int, float, bool))}


def _loss_name(model: Any) -> str:
    loss = getattr(model, "loss", None) if isinstance(vars(type(model)).get("loss"), property) else None
    given = loss if loss is not None else getattr(getattr(model, "_compile_loss", None), "_user_loss", None)
    if given is None:
        return ""
    return _name_of(given)


def _name_of(loss: Any) -> str:
    if isinstance(loss, str):
        return loss
    if isinstance(loss, dict):
        return ", ".join(f"{name}: {_name_of(one)}" for name, one in list(loss.items())[:10])
    if isinstance(loss, (list, tuple)):
        return ", ".join(_name_of(one) for one in loss[:10])
    location = user_lines.of_function(loss)
    name = getattr(loss, "__name__", None) or getattr(loss, "name", None) or type(loss).__name__
    ignored = getattr(loss, "ignore_class", None)
    if ignored is not None:
        return f"{name} (ignore_class={ignored})"
    return f"{name} ({location})" if location else str(name)


def _plain(value: Any) -> Any:
    return value.numpy() if hasattr(value, "numpy") else value


def _shape(value: Any) -> Any:
    if value is None or isinstance(value, (int, str)):
        return value
    if isinstance(value, dict):
        return {str(key): _shape(item) for key, item in value.items()}
    return _safely(lambda: [_shape(item) for item in value])


def _boolean(value: Any) -> bool | None:
    return bool(value) if isinstance(value, (bool, int)) else None


def _whole(value: Any) -> int | None:
    return _safely(lambda: int(_plain(value))) if value is not None else None


def _json(value: Any) -> Any:
    return value if isinstance(value, (str, bool, int)) else None


def _safely(read: Any) -> Any:
    """A model may refuse any of its attributes at any time; a fact that cannot be read is left out."""
    try:
        return read()
    except Exception:
        return None
