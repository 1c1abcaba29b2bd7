"""Sentences of causes in the numbers: losses, gradients, precision."""

from __future__ import annotations

from holdfast.report.wording import shared
from holdfast.report.wording.advice import Advice
from holdfast.report.wording.template import Text

TITLES: dict[str, Text] = {}

FACTS: dict[str, Text] = {}

REMEDIES: dict[str, Advice] = {}

RULED_OUT: dict[str, Text] = {
    "learning-rate-too-high.one-batch": lambda values: (
        f"the loss broke at one batch: {shared.outlier(values)}"
    ),
}
