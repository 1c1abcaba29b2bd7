"""For each cause that can be tried: the recorded setup with the fault corrected. Pure: it trains nothing."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from holdfast.explain.experiment import model_config
from holdfast.explain.experiment.model_config import Config, NoCorrection
from holdfast.explain.finding import Finding
from holdfast.explain.readings.compared import BINARY, CATEGORICAL, DIFFERENCES, SPARSE, Compared

Setup: TypeAlias = dict[str, Any]  # as the probe stored it

#: Factors of the learning rate. Chosen: below ten times, a fault of the rate is seldom decisive in a few hundred steps.
_RAISED, _LOWERED, _TENTH = 30.0, 1 / 30, 0.1
_HIGHEST_RATE = 0.05
_DROPOUT = 0.2
_SQUASHING = ("sigmoid", "tanh", "hard_sigmoid", "softsign")
_LINEAR = ("linear",)


@dataclass(frozen=True)
class Corrected:
    setup: Setup
    change: str  # a kind of change, for the words
    values: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Suspected:
    finding: Finding
    setup: Setup
    seen: Compared | None
    task: str  # classes | labels | numbers


Correction: TypeAlias = Callable[[Suspected], Corrected]


def corrected(one: Suspected) -> list[Corrected]:
    """The corrections that fit, best first. Raises `NoCorrection` where there is none."""
    found, refused = [], ""
    for correction in CORRECTIONS[one.finding.cause]:
        try:
            found.append(correction(one))
        except NoCorrection as error:
            refused = refused or str(error)
    if not found:
        raise NoCorrection(refused)
    return found


def task_of(finding: Finding, setup: Setup, seen: Compared | None) -> str:
    """By the labels, where the finding says that the loss is wrong; else by the loss."""
    labels = seen.labels if seen is not None else None
    loss = setup["loss_name"]
    measured = finding.cause == "output-range-mismatch" or finding.title.kind in (
        "loss-task-mismatch.numbers",
        "loss-task-mismatch.outside",
    )
    if measured:
        return "numbers"
    if loss in SPARSE | CATEGORICAL or (labels is not None and labels.one_hot):
        return "classes"
    squashed = seen is not None and seen.output.activation in ("softmax", "sigmoid")
    if seen is not None and seen.is_class_id and (loss in BINARY or squashed):
        return "classes"
    zero_or_one = labels is not None and labels.whole_numbers and labels.distinct in (1, 2)
    return "labels" if loss in BINARY and zero_or_one else "numbers"


def _fitting_output(one: Suspected) -> Corrected:
    """The activation, the units and the loss that belong to the labels."""
    shape, high = list(one.setup["targets"]["shape"]), one.setup["targets"]["high"]
    units, loss = _units(one.setup["model"]), one.setup["loss_name"]
    if one.task == "numbers":
        activation, wanted = "linear", (shape[-1] if shape else 1)
        loss = loss if loss in DIFFERENCES else "mean_squared_error"
    elif one.task == "labels":
        activation, wanted, loss = "sigmoid", units, "binary_crossentropy"
    elif one.seen is not None and one.seen.labels is not None and one.seen.labels.one_hot:
        activation, wanted, loss = "softmax", shape[-1], "categorical_crossentropy"
    else:
        activation, wanted, loss = _for_ids(one, units, high)
    changed = {
        **one.setup,
        "model": model_config.with_output(one.setup["model"], activation, wanted),
        "loss": loss,
        "loss_name": loss,
        "from_logits": False,
    }
    return Corrected(changed, "output", {"units": wanted, "activation": activation, "loss": loss})


def _for_ids(one: Suspected, units: int | None, high: float | None) -> tuple[str, int | None, str]:
    low = one.setup["targets"]["low"]
    if low is None or high is None or low < 0:
        raise NoCorrection("class ids below 0 have no output that fits")
    if high <= 1 and units == 1:
        return "sigmoid", 1, "binary_crossentropy"
    return "softmax", max(units or 0, int(high) + 1), "sparse_categorical_crossentropy"


def _units(config: Config) -> int | None:
    found = [layer["config"]["units"] for layer in model_config.layers(config) if "units" in layer["config"]]
    return int(found[-1]) if found else None


def _fitting_output_and_scale(one: Suspected) -> Corrected:
    if one.task != "numbers":
        raise NoCorrection("")
    fitting = _fitting_output(one)
    return Corrected({**fitting.setup, "scale_targets": True}, "output-and-scale", fitting.values)


def _scaled_inputs(one: Suspected) -> Corrected:
    if any(layer["class_name"] == "Embedding" for layer in model_config.layers(one.setup["model"])):
        raise NoCorrection("its inputs are ids")
    return Corrected({**one.setup, "scale_inputs": True}, "scaled-inputs")


def _scaled_targets(one: Suspected) -> Corrected:
    if one.task != "numbers":
        raise NoCorrection("its targets are classes")
    return Corrected({**one.setup, "scale_targets": True}, "scaled-targets")


def _scaled_both(one: Suspected) -> Corrected:
    return (
        Corrected({**_scaled_inputs(one).setup, "scale_targets": True}, "scaled-both")
        if (one.task == "numbers")
        else _scaled_inputs(one)
    )


def _rate(one: Suspected, factor: float) -> Corrected:
    optimizer = copy.deepcopy(one.setup["optimizer"])
    rate = optimizer["config"].get("learning_rate")
    if not isinstance(rate, float):
        raise NoCorrection("its learning rate follows a schedule")
    changed = rate * factor if factor < 1 else max(rate, min(rate * factor, _HIGHEST_RATE))
    changed = float(f"{changed:.3g}")
    optimizer["config"]["learning_rate"] = changed
    return Corrected(
        {**one.setup, "optimizer": optimizer}, "learning-rate", {"rate": changed, "before": rate}
    )


def _model(change: str, made: Callable[[Config], Config], **values: Any) -> Correction:
    def correction(one: Suspected) -> Corrected:
        return Corrected({**one.setup, "model": made(one.setup["model"])}, change, values)

    return correction


def _relu_and_start(config: Config) -> Config:
    return model_config.with_initializers(
        model_config.with_hidden_activation(config, _SQUASHING), for_relu=True
    )


def _dropout(one: Suspected) -> Corrected:
    rate = 0.0 if one.finding.title.kind.endswith(".outputs") else _DROPOUT
    return _model("dropout", lambda config: model_config.with_dropout(config, rate), rate=rate)(one)


def _clipped(one: Suspected) -> Corrected:
    optimizer = copy.deepcopy(one.setup["optimizer"])
    optimizer["config"].update(clipnorm=1.0, clipvalue=None, global_clipnorm=None)
    return Corrected({**one.setup, "optimizer": optimizer}, "clipped-gradients")


def _dead_output(one: Suspected) -> Corrected:
    if not one.finding.title.values.get("last"):
        raise NoCorrection("")
    return _fitting_output(one)


def _raised(one: Suspected) -> Corrected:
    return _rate(one, _RAISED)


def _usual(one: Suspected) -> Corrected:
    """The rate that the finding advises."""
    advised = [remedy.values.get("learning_rate") for remedy in one.finding.remedies]
    rate = one.setup["optimizer"]["config"].get("learning_rate")
    if not advised or not isinstance(advised[0], float) or not isinstance(rate, float) or rate <= 0:
        raise NoCorrection("")
    return _rate(one, advised[0] / rate)


def _lowered(one: Suspected) -> Corrected:
    return _rate(one, _LOWERED)


def _tenth(one: Suspected) -> Corrected:
    return _rate(one, _TENTH)


_random_start = _model("initializers", lambda config: model_config.with_initializers(config, for_relu=False))
_relu_start = _model(
    "relu-initializers", lambda config: model_config.with_initializers(config, for_relu=True)
)
_relu = _model("relu", _relu_and_start)
_relu_between = _model("relu", lambda config: model_config.with_hidden_activation(config, _LINEAR))

#: What is tried for each cause, in this order, until one learns.
CORRECTIONS: dict[str, Sequence[Correction]] = {
    "output-loss-mismatch": (_fitting_output, _fitting_output_and_scale),
    "output-range-mismatch": (_fitting_output, _fitting_output_and_scale),
    "output-units-mismatch": (_fitting_output,),
    "loss-task-mismatch": (_fitting_output, _fitting_output_and_scale),
    "input-scale-mismatch": (_scaled_inputs,),
    "targets-not-scaled": (_scaled_targets, _scaled_both),
    "dead-units": (_dead_output, _relu_start, _tenth),
    "saturated-units": (_scaled_inputs, _relu),
    "vanishing-gradients": (_relu,),
    "exploding-gradients": (_clipped, _tenth),
    "no-hidden-activation": (_relu_between,),
    "constant-initialisation": (_random_start,),
    "learning-rate-too-low": (_usual, _raised),
    "learning-rate-too-high": (_lowered,),
    "dropout-too-strong": (_dropout,),
    "regularisation-too-strong": (_model("no-penalty", model_config.without_penalty),),
}
