"""Sentences of causes in the memory of the host."""

from __future__ import annotations

from holdfast.report.wording import shared
from holdfast.report.wording.advice import Advice
from holdfast.report.wording.template import Text

TITLES: dict[str, Text] = {}

FACTS: dict[str, Text] = {}

REMEDIES: dict[str, Advice] = {}

RULED_OUT: dict[str, Text] = {
    "memory-leak.not-at-steps": lambda values: f"{shared.grew(values)}, and not at the steps",
}
