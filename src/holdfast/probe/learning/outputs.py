"""What the loss of a compiled model compares with the labels."""

from __future__ import annotations

import sys
from typing import Any

from ...journal.events import LayersSeen, OutputSeen
from . import compiled_losses as losses
from . import looked_at, model_structure
from .layer_lines import LayerLines
from .model_structure import LastLayer

_READ_BEHIND = ("softmax", "sigmoid")


def layers_seen(model: Any, lines: LayerLines) -> LayersSeen:
    every_layer = model_structure.flat_layers(model)
    most = model_structure.MOST_LAYERS
    kept = every_layer if len(every_layer) <= most else every_layer[: most // 2] + every_layer[-most // 2 :]
    rows = [model_structure.described(layer, lines) for layer in kept]
    return LayersSeen(model=str(getattr(model, "name", "")), layers=rows, layers_in_all=len(every_layer))


def trains_by_itself(model: Any) -> bool:
    """The loss that was compiled is the one that is minimised: no `train_step` or `compute_loss` of the user's own."""
    return own_method(model) is None


def own_method(model: Any) -> Any:
    """The `train_step` or `compute_loss` of the user's own, where there is one."""
    for name in ("train_step", "compute_loss"):
        method = getattr(type(model), name, None)
        if method is not None and not _of_library(method):
            return method
    return None


def own_loss(model: Any) -> Any:
    """What computes the loss that is minimised, where that is the user's own: a step, else a loss that was compiled,
    as a function or as the method of a class."""
    method = own_method(model)
    if method is not None:
        return method
    names = [str(name) for name in (getattr(model, "output_names", None) or [""])]
    compiled = [getattr(loss, "fn", loss) for loss in losses.losses_of(model, names)]
    return next((_called_of(loss) for loss in compiled if looked_at.is_users(loss)), None)


def _called_of(loss: Any) -> Any:
    return loss if hasattr(loss, "__code__") else getattr(type(loss), "call", loss)


def _of_library(method: Any) -> bool:
    return str(getattr(method, "__module__", "")).partition(".")[0] in ("keras", "tf_keras", "tensorflow")


def outputs_seen(
    model: Any, lines: LayerLines, fit: int | None, compiled_at: str, target_shapes: dict[str, Any]
) -> list[OutputSeen]:
    if not trains_by_itself(model):
        return []
    tensors = list(_safely_outputs(model))
    names = [str(name) for name in (getattr(model, "output_names", None) or [])]
    if tensors:
        names = names if len(names) == len(tensors) else [str(place) for place in range(len(tensors))]
        lasts = [model_structure.last_layer(model, tensor) for tensor in tensors]
    else:
        tensors, names, lasts = [None], [""], [_without_graph(model)]
    compiled = losses.losses_of(model, names)
    metrics = losses.metrics_of(model, len(tensors))
    several = len(tensors) > 1
    rows = []
    for tensor, name, last, loss in zip(tensors, names, lasts, compiled):
        if loss is not None:
            about = {
                "fit": fit, "model": str(getattr(model, "name", "")), "output": name if several else "",
                "metrics": metrics, "loss_where": compiled_at,
                "target_shape": target_shapes.get(name if several else ""),
            }  # fmt: skip
            rows.append(_one(tensor, last, losses.read_loss(loss), lines, about))
    return rows


def without_loss(model: Any, lines: LayerLines) -> list[OutputSeen]:
    """The outputs of a model that was never compiled."""
    tensors = list(_safely_outputs(model))
    lasts = [model_structure.last_layer(model, tensor) for tensor in tensors] or [_without_graph(model)]
    several = len(lasts) > 1
    rows = []
    for place, last in enumerate(lasts):
        tensor = tensors[place] if tensors else None
        if last is None:
            continue
        shape = _shape(tensor)
        units = shape[-1] if shape and len(shape) > 1 else model_structure.units_of(last.layer)
        rows.append(
            OutputSeen(
                by="call", model=str(getattr(model, "name", "")), output=str(place) if several else "",
                layer=type(last.layer).__name__, layer_name=str(getattr(last.layer, "name", "")), units=units,
                activation=last.activation, where=lines.of(last.layer), own_loss=True, prediction_shape=shape,
            )
        )  # fmt: skip
    return rows


def _one(
    tensor: Any, last: LastLayer | None, loss: losses.ReadLoss, lines: LayerLines, about: dict[str, Any]
) -> OutputSeen:
    shape = _shape(tensor)
    units = shape[-1] if shape and len(shape) > 1 else None
    layer = last.layer if last is not None else None
    if units is None and layer is not None and tensor is None:
        units = model_structure.units_of(layer)
    return OutputSeen(
        **about,
        by="compile",
        layer=type(layer).__name__ if layer is not None else "",
        layer_name=str(getattr(layer, "name", "")) if layer is not None else "",
        units=units,
        activation=last.activation if last is not None else "",
        where=lines.of(layer) if layer is not None else "",
        loss=loss.name,
        own_loss=loss.own,
        from_logits=loss.from_logits,
        reads_behind=_reads_behind(tensor, last, loss),
        prediction_shape=shape,
    )


def _reads_behind(tensor: Any, last: LastLayer | None, loss: losses.ReadLoss) -> bool:
    """On TensorFlow a cross-entropy looks for the logits that a softmax or a sigmoid left on its result. JAX's and
    torch's do not look; a reshaped or cast result has none."""
    if last is None or not last.direct or last.activation not in _READ_BEHIND:
        return False
    if (
        loss.own
        or loss.name not in losses.CROSS_ENTROPIES
        or "float32" not in str(getattr(tensor, "dtype", "float32"))
    ):
        return False
    keras = sys.modules.get("keras")
    backend = getattr(keras, "backend", None) if keras is not None else None
    of_keras = type(last.layer).__module__.startswith("keras.")
    asked = getattr(backend, "backend", None) if of_keras else None
    name = asked() if callable(asked) else "tensorflow"
    return bool(name == "tensorflow")


def _without_graph(model: Any) -> LastLayer | None:
    """Of a sequence that has no graph yet. A subclass may do anything after its last layer: only what that layer
    itself makes of its values is taken, and only where one layer at the top is left to be the last, whose values fit
    into no other layer."""
    if type(model).__name__ == "Sequential":
        return model_structure.last_of_sequence(list(getattr(model, "layers", None) or []))
    layers = list(getattr(model, "layers", None) or [])
    last = model_structure.last_of_sequence(layers[-1:]) if layers else None
    if last is None or last.activation in ("", "linear") or _feeds_another(model, last.layer):
        return None
    return last._replace(direct=False) if not type(last.layer).__name__.endswith("Dense") else last


def _feeds_another(model: Any, layer: Any) -> bool:
    """It may: a layer that is made last need not be called last. Not known before the model is built."""
    units = model_structure.units_of(layer)
    if not getattr(layer, "built", False):
        return True
    kernels = [getattr(one, "kernel", None) for one in model_structure.flat_layers(model) if one is not layer]
    shapes = [tuple(kernel.shape) for kernel in kernels if kernel is not None]
    return any(len(shape) > 1 and shape[-2] == units for shape in shapes)


def _safely_outputs(model: Any) -> list[Any]:
    try:
        return list(model.outputs or [])
    except Exception:  # a sequence that is not built, a subclass
        return []


def _shape(tensor: Any) -> list[int | None] | None:
    shape = getattr(tensor, "shape", None)
    if shape is None:
        return None
    try:
        return [None if side is None else int(side) for side in shape]
    except (TypeError, ValueError):
        return None
