"""Changes in the configuration of a Keras model, as its layers write it. A change returns a new configuration."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any, TypeAlias

Config: TypeAlias = dict[str, Any]

_ACTIVATIONS = ("Activation", "Softmax", "ReLU", "LeakyReLU", "ELU", "PReLU")
_WITH_UNITS = ("Dense",)
_WEIGHTED = ("Dense", "Conv", "DepthwiseConv", "SeparableConv")
_DEFAULT_KERNEL = {"module": "keras.initializers", "class_name": "GlorotUniform", "config": {"seed": None}}
_HE_NORMAL = {"module": "keras.initializers", "class_name": "HeNormal", "config": {"seed": None}}
_ZEROS = {"module": "keras.initializers", "class_name": "Zeros", "config": {}}
#: What a configuration may refer to: it is given to Keras, which would import what it names.
_ALLOWED = ("keras.layers", "keras.initializers", "keras.regularizers", "keras.constraints", "keras.optimizers",
            "keras.losses", "keras.activations", "keras.models", "keras.dtype_policies", "keras.src.ops.",
            "keras.src.models", "keras.ops", "keras.src.backend.torch.optimizers.")  # fmt: skip
_REFUSED = frozenset({"Lambda", "function", "TFSMLayer", "TorchModuleWrapper", "JaxLayer", "FlaxLayer"})


class NoCorrection(Exception):
    """What would have to change is not where it was expected."""


def named_outside(value: Any) -> str:
    """A class in it that is not of Keras's layers, losses and the like; "" if there is none."""
    if isinstance(value, dict):
        name, module = value.get("class_name"), value.get("module")
        if isinstance(name, str) and "config" in value:
            known = module in (None, "keras") or str(module).startswith(_ALLOWED)
            if not known or name in _REFUSED or value.get("registered_name") not in (None, name):
                return f"{module}.{name}"
        value = list(value.values())
    if isinstance(value, list):
        return next((found for found in map(named_outside, value) if found), "")
    return ""


def layers(config: Config) -> Iterator[Config]:
    """Of the model and of models inside it, in their order."""
    for layer in config["config"]["layers"]:
        if isinstance(layer.get("config"), dict) and "layers" in layer["config"]:
            yield from layers(layer)
        else:
            yield layer


def with_output(config: Config, activation: str, units: int | None) -> Config:
    """The last layer with another activation, and as many units as there are answers."""
    changed = copy.deepcopy(config)
    listed = list(layers(changed))
    last = _last(changed, listed)
    place = next(number for number, layer in enumerate(listed) if layer is last)
    while last["class_name"] in _ACTIVATIONS and place > 0:
        last["class_name"], last["module"] = "Activation", "keras.layers"
        last["config"] = {"name": last["config"]["name"], "activation": "linear"}
        place -= 1
        last = listed[place]
    own = last["config"]
    if "activation" not in own:
        raise NoCorrection(f"the last layer is {last['class_name']}")
    own["activation"] = activation
    if units is not None and own.get("units") != units:
        if last["class_name"] not in _WITH_UNITS:
            raise NoCorrection(f"the last layer is {last['class_name']}")
        own["units"] = units
    return changed


def _last(config: Config, listed: list[Config]) -> Config:
    outputs = config["config"].get("output_layers")
    while isinstance(outputs, list) and len(outputs) == 1 and isinstance(outputs[0], list):
        outputs = outputs[0]
    if isinstance(outputs, list) and outputs and isinstance(outputs[0], str):
        named = [layer for layer in listed if layer["config"].get("name") == outputs[0]]
        if not named:
            raise NoCorrection("the last layer is a model of its own")
        return named[0]
    return listed[-1]


def hidden(config: Config, listed: list[Config]) -> list[Config]:
    """Layers with weights and an activation, without the last one of the model."""
    weighted = [layer for layer in listed if layer["class_name"].startswith(_WEIGHTED)]
    last = _last(config, listed)
    while last["class_name"] in _ACTIVATIONS and last is not listed[0]:
        last = listed[[layer is last for layer in listed].index(True) - 1]
    return [layer for layer in weighted if layer is not last and "activation" in layer["config"]]


def with_hidden_activation(config: Config, instead_of: tuple[str, ...]) -> Config:
    changed = copy.deepcopy(config)
    listed = list(layers(changed))
    count = 0
    for layer in hidden(changed, listed):
        if layer["config"]["activation"] in instead_of:
            layer["config"]["activation"] = "relu"
            count += 1
    for layer in listed[:-1]:
        if layer["class_name"] == "Activation" and layer["config"].get("activation") in instead_of:
            layer["config"]["activation"] = "relu"
            count += 1
    if not count:
        raise NoCorrection("no hidden layer has such an activation")
    return changed


def with_initializers(config: Config, *, for_relu: bool) -> Config:
    """Random weights and biases of 0, in all layers with weights."""
    changed = copy.deepcopy(config)
    for layer in layers(changed):
        for name, value in layer["config"].items():
            if name.endswith("kernel_initializer") and isinstance(value, dict):
                layer["config"][name] = copy.deepcopy(_HE_NORMAL if for_relu else _DEFAULT_KERNEL)
            elif name == "bias_initializer":
                layer["config"][name] = copy.deepcopy(_ZEROS)
    return changed


def with_dropout(config: Config, rate: float) -> Config:
    changed = copy.deepcopy(config)
    dropped = [layer for layer in layers(changed) if "Dropout" in layer["class_name"]]
    if not dropped:
        raise NoCorrection("no layer drops values")
    for layer in dropped:
        layer["config"]["rate"] = min(rate, float(layer["config"].get("rate") or 0.0))
    return changed


def without_penalty(config: Config) -> Config:
    changed = copy.deepcopy(config)
    for layer in layers(changed):
        for name in layer["config"]:
            if name.endswith("_regularizer"):
                layer["config"][name] = None
    return changed
