"""Sentences of causes in the memory of a GPU."""

from __future__ import annotations

from holdfast.report.wording import shared
from holdfast.report.wording.advice import Advice
from holdfast.report.wording.template import Text

TITLES: dict[str, Text] = {}

FACTS: dict[str, Text] = {
    "memory.grew-after-flat": lambda values: f"{shared.grew(values)}; before that it was flat",
}

REMEDIES: dict[str, Advice] = {}

RULED_OUT: dict[str, Text] = {}
