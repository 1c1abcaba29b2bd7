"""The layers of a model, and the layer whose values its loss compares with the labels."""

from __future__ import annotations

from typing import Any, NamedTuple

from .layer_lines import LayerLines

MOST_LAYERS = 120
_MOST_STEPS_BACK = 40
#: Layers that change neither the values nor their range; those of the first group keep the tensor's order too.
_PASS = frozenset({"Reshape", "Flatten", "Permute", "Squeeze", "ExpandDims", "Identity", "Dropout"})
_RECURRENT = frozenset({"LSTM", "GRU", "SimpleRNN", "Bidirectional", "RNN"})
_COMPUTES = ("Dense", "Conv", "LocallyConnected", "LSTM", "GRU", "SimpleRNN")
#: Names under which frameworks have the same function.
_ALIASES = {
    "softmax_v2": "softmax", "log_softmax_v2": "log_softmax", "swish": "silu", "leakyrelu": "leaky_relu",
    "_sigmoid": "sigmoid", "elu_v2": "elu", "leaky_re_lu": "leaky_relu", "p_re_lu": "leaky_relu",
    "re_lu": "relu", "parametric_relu": "leaky_relu", "logsoftmax": "log_softmax",
}  # fmt: skip
_ACTIVATIONS = frozenset(
    {"linear", "softmax", "sigmoid", "log_softmax", "log_sigmoid", "relu", "relu6", "tanh", "softplus", "softsign",
     "exponential", "elu", "selu", "gelu", "silu", "leaky_relu", "hard_sigmoid", "hard_tanh", "mish", "celu"}
)  # fmt: skip
_AS_LAYERS = {
    "Softmax": "softmax", "ReLU": "relu", "LeakyReLU": "leaky_relu", "PReLU": "leaky_relu", "ELU": "elu",
    "Sigmoid": "sigmoid", "Tanh": "tanh", "Relu": "relu", "LogSoftmax": "log_softmax", "Softplus": "softplus",
}  # fmt: skip


class LastLayer(NamedTuple):
    """What computes an output."""

    layer: Any
    activation: str  # what the values went through last; "": not known
    direct: bool  # the output is what the activation gave, not a reshaped copy of it


def activation_name(function: Any) -> str:
    """Of a function, a name or a layer; "" for one that is not known."""
    if function is None:
        return "linear"
    name = function if isinstance(function, str) else getattr(function, "__name__", "") or ""
    if not name:
        return _AS_LAYERS.get(type(function).__name__, "")
    name = _ALIASES.get(name.lower(), name.lower())
    return name if name in _ACTIVATIONS else ""


def own_activation(layer: Any) -> str:
    """Of one layer; "" where it has none of its own, or an unknown one."""
    kind = type(layer).__name__
    if kind in _AS_LAYERS:
        axis = getattr(layer, "axis", -1)
        return _AS_LAYERS[kind] if axis in (-1, None) or kind != "Softmax" else ""
    if kind in ("ReLU", "Relu") and getattr(layer, "max_value", None) is not None:
        return ""
    if kind == "Bidirectional":
        return own_activation(getattr(layer, "forward_layer", None))
    if kind == "TimeDistributed":
        return own_activation(getattr(layer, "layer", None))
    if "activation" not in dir(layer):
        return ""
    return activation_name(layer.activation)


def is_library_layer(layer: Any) -> bool:
    root = type(layer).__module__.partition(".")[0]
    return root in ("keras", "tf_keras", "tensorflow")


def last_layer(model: Any, output: Any) -> LastLayer | None:
    """Back from a tensor of a model's graph to the layer that computes it."""
    activation, direct = "", True
    tensor, owner = output, model
    for _ in range(_MOST_STEPS_BACK):
        history = getattr(tensor, "_keras_history", None)
        layer = getattr(history, "operation", None) or getattr(history, "layer", None)
        if layer is None or layer is owner:
            return None
        inner = getattr(layer, "outputs", None) if _is_model(layer) else None
        if inner:
            index = getattr(history, "tensor_index", 0)
            tensor, owner = inner[index if index < len(inner) else 0], layer
            continue
        found, activation, direct = _read(layer, activation, direct)
        if found is not None:
            return found
        tensor = _input_of(layer, history)
        if tensor is None:
            return None
    return None


def last_of_sequence(layers: list[Any]) -> LastLayer | None:
    """The same for layers in the order in which they are called."""
    activation, direct = "", True
    for layer in reversed(layers):
        if _is_model(layer):
            inner = list(getattr(layer, "layers", None) or [])
            return (
                last_of_sequence(inner) if type(layer).__name__ == "Sequential" and not activation else None
            )
        found, activation, direct = _read(layer, activation, direct)
        if found is not None:
            return found
    return None


def _read(layer: Any, activation: str, direct: bool) -> tuple[LastLayer | None, str, bool]:
    """The answer, or what is known so far: the activation behind the layer that computes the values."""
    kind = type(layer).__name__
    if not is_library_layer(layer):
        return LastLayer(layer, activation, direct), activation, direct
    if kind in _PASS:
        return None, activation, direct and bool(activation)
    if kind == "Activation" or kind in _AS_LAYERS:
        own = own_activation(layer)
        if activation or not own:  # one after another: the later one has the last word
            return LastLayer(layer, activation, direct), activation, direct
        return (None, "", direct) if own == "linear" else (None, own, direct)
    computes = kind.startswith(_COMPUTES) or kind.endswith("Dense") or "Conv" in kind
    if computes or kind in ("Bidirectional", "TimeDistributed"):
        return LastLayer(layer, activation or own_activation(layer), direct), activation, direct
    if kind == "BatchNormalization":
        return LastLayer(layer, activation or "linear", direct), activation, direct
    return LastLayer(layer, activation, direct), activation, direct


def _input_of(layer: Any, history: Any) -> Any:
    nodes = list(getattr(layer, "_inbound_nodes", None) or [])
    index = getattr(history, "node_index", 0)
    if index >= len(nodes):
        return None
    inputs = _tensors_into(nodes[index])
    return inputs[0] if len(inputs) == 1 else None


def _tensors_into(node: Any) -> list[Any]:
    inputs = getattr(node, "input_tensors", None)
    if not isinstance(inputs, (list, tuple)):
        inputs = getattr(node, "keras_inputs", None) or [inputs]
    return list(inputs)


def _takes_from(layer: Any) -> list[str] | None:
    """The layers whose outputs it takes, in the graph of a functional model; None where that is not known."""
    names = []
    for node in list(getattr(layer, "_inbound_nodes", None) or []):
        for tensor in _tensors_into(node):
            history = getattr(tensor, "_keras_history", None)
            before = getattr(history, "operation", None) or getattr(history, "layer", None)
            if before is None or _is_model(before) or type(before).__name__ == "InputLayer":
                return None
            names.append(str(before.name))
    return names or None


def _is_model(layer: Any) -> bool:
    return hasattr(layer, "layers") and hasattr(layer, "fit")


def flat_layers(model: Any) -> list[Any]:
    """Without models inside of models, which stand for their layers, and without inputs."""
    layers = [layer for layer in _in_their_order(model, set()) if not _is_model(layer)]
    return [layer for layer in layers if type(layer).__name__ != "InputLayer"]


def _in_their_order(layer: Any, seen: set[int]) -> list[Any]:
    """Keras 3 lists the layers of a model inside of a model from the last to the first."""
    if not isinstance(getattr(layer, "_layers", None), list) or hasattr(layer, "_self_tracked_trackables"):
        return list(layer._flatten_layers(include_self=False))
    found = []
    for child in layer._layers:
        if id(child) not in seen:
            seen.add(id(child))
            found += [child, *_in_their_order(child, seen)]
    return found


def described(layer: Any, lines: LayerLines) -> dict[str, Any]:
    """A row of `LayersSeen`: what is known, and nothing else."""
    penalty = getattr(layer, "kernel_regularizer", None)
    row = {
        "name": str(getattr(layer, "name", "")),
        "kind": type(layer).__name__,
        "activation": own_activation(layer),
        "after": _takes_from(layer),
        "units": units_of(layer),
        "trainable": bool(getattr(layer, "trainable", True)),
        "rate": _number(getattr(layer, "rate", None)),
        "initializer": _kind(getattr(layer, "kernel_initializer", None)),
        "bias_initializer": _kind(getattr(layer, "bias_initializer", None)),
        "penalty": _penalty(penalty),
        "momentum": _number(getattr(layer, "momentum", None)),
        "where": lines.of(layer),
    }
    return {key: value for key, value in row.items() if value is not None and value != ""}


def units_of(layer: Any) -> int | None:
    for name in ("units", "filters"):
        value = getattr(layer, name, None)
        if isinstance(value, int) and not isinstance(value, bool):
            return value
    return None


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def _kind(value: Any) -> str:
    """Class of an initializer; with its value where it is a constant."""
    if value is None:
        return ""
    name = value if isinstance(value, str) else type(value).__name__
    constant = _number(getattr(value, "value", None))
    return f"{name}({constant:g})" if name == "Constant" and constant is not None else name


def _penalty(value: Any) -> str:
    if value is None:
        return ""
    parts = [(name, getattr(value, name, None)) for name in ("l1", "l2")]
    known = []
    for name, part in parts:
        try:
            known += [f"{name}={float(part):g}"] if part is not None and float(part) else []
        except (TypeError, ValueError):
            continue
    return f"{type(value).__name__}({', '.join(known)})"
