"""Sentences of causes in the model, the loss and the labels."""

from __future__ import annotations

from holdfast.report.wording.advice import Advice
from holdfast.report.wording.template import Text

TITLES: dict[str, Text] = {}

FACTS: dict[str, Text] = {
    "training.course": "the loss went from {first:number} to {last:number} in {steps:count step}"
    "[; the best answer that ignores the inputs has {constant:number}]",
    "training.accuracy-against-majority": "accuracy is {accuracy:percent} in training; the most frequent class alone "
    "gives {majority:percent}",
}

REMEDIES: dict[str, Advice] = {}
