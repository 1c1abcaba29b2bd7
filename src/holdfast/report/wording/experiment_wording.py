"""Sentences about an experiment: a model that was trained again, as it was and corrected."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from holdfast.report.wording.template import Text, filled
from holdfast.units import count

#: What was changed, by the kind of the correction.
_CHANGES: dict[str, str] = {
    "output": "{output} and {loss}",
    "output-and-scale": "{output}, {loss} and standardised targets",
    "scaled-inputs": "standardised inputs",
    "scaled-targets": "standardised targets",
    "scaled-both": "standardised inputs and targets",
    "learning-rate": "a learning rate of {rate:number} instead of {before:number}",
    "initializers": "random initial weights",
    "relu-initializers": "initial weights for ReLU (he_normal) and biases of 0",
    "relu": "ReLU in its hidden layers",
    "dropout": "dropout of {rate} at most",
    "clipped-gradients": "gradients clipped to a norm of 1",
    "no-penalty": "no penalty on its weights",
}


def _change(values: Mapping[str, Any]) -> str:
    changed = dict(values["changed"])
    if "activation" in changed:
        changed["output"] = _output(changed)
    return filled(_CHANGES[values["change"]], changed)


def _output(changed: Mapping[str, Any]) -> str:
    """ "3 softmax units at the output" """
    units, activation = changed.get("units"), changed["activation"]
    return f"{count(units, f'{activation} unit')} at the output" if units else f"{activation} at the output"


def _reached(numbers: Mapping[str, Any]) -> str:
    """ "accuracy 98 %", or what it leaves of the variance."""
    if "error" in numbers:
        return filled("{error:clip 120}", numbers)
    if "broken" in numbers:
        return "its answers are not finite"
    if "accuracy" in numbers:
        return filled("accuracy {accuracy:percent}", numbers)
    return filled("its error is {unexplained:percent} of that of the mean", numbers)


def _again(values: Mapping[str, Any]) -> str:
    return filled("trained again on {rows:count recorded row} for {steps:count step}", values)


def _largest(values: Mapping[str, Any]) -> str:
    return filled("[; the largest class is {majority:percent}]", values)


def _learns(values: Mapping[str, Any]) -> str:
    return (
        f"{_again(values)} with {_change(values)}, the model learns ({_reached(values['then'])}); as it was, it does "
        f"not ({_reached(values['was'])}{_largest(values)})"
    )


def _better(values: Mapping[str, Any]) -> str:
    return (
        f"{_again(values)} with {_change(values)}, the model learns far more ({_reached(values['then'])}) than as it "
        f"was ({_reached(values['was'])}{_largest(values)})"
    )


def _learns_as_it_was(values: Mapping[str, Any]) -> str:
    return (
        f"{_again(values)}, the model learns as it was ({_reached(values['was'])}{_largest(values)}); with "
        f"{_change(values)}: {_reached(values['then'])}"
    )


def _neither(values: Mapping[str, Any]) -> str:
    return (
        f"{_again(values)}, the model learns neither as it was ({_reached(values['was'])}) nor with {_change(values)} "
        f"({_reached(values['then'])}{_largest(values)})"
    )


def _open(values: Mapping[str, Any]) -> str:
    return (
        f"{_again(values)} as it was and with {_change(values)}, the model shows no clear difference "
        f"({_reached(values['was'])}, then {_reached(values['then'])}{_largest(values)})"
    )


FACTS: dict[str, Text] = {
    "experiment.learns": _learns,
    "experiment.learns-better": _better,
    "experiment.learns-as-it-was": _learns_as_it_was,
    "experiment.neither-learns": _neither,
    "experiment.open": _open,
}
