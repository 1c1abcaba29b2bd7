"""Sentences of causes in the weights, the units and the gradients."""

from __future__ import annotations

from holdfast.report.wording.advice import Advice
from holdfast.report.wording.template import Text

TITLES: dict[str, Text] = {}

FACTS: dict[str, Text] = {}

REMEDIES: dict[str, Advice] = {}
