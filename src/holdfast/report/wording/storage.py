"""Sentences of causes in files and disks."""

from __future__ import annotations

from holdfast.report.wording.advice import Advice
from holdfast.report.wording.template import Text

TITLES: dict[str, Text] = {}

FACTS: dict[str, Text] = {}

REMEDIES: dict[str, Advice] = {}

RULED_OUT: dict[str, Text] = {}
