"""Sentences of causes in the supply and the content of the data."""

from __future__ import annotations

from holdfast.report.wording import shared
from holdfast.report.wording.advice import Advice
from holdfast.report.wording.template import Text

TITLES: dict[str, Text] = {
    "input-scale-mismatch.outlier": lambda values: (
        f"one value of the data lies far beyond all others: {shared.outlier(values)}"
    ),
}

FACTS: dict[str, Text] = {}

REMEDIES: dict[str, Advice] = {}

RULED_OUT: dict[str, Text] = {}
