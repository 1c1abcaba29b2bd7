"""The words of a remedy."""

from __future__ import annotations

from dataclasses import dataclass

from holdfast.report.wording.template import Text


@dataclass(frozen=True, slots=True)
class Advice:
    do: Text
    code: Text = ""  # a few lines that can be pasted
