"""What a framework warned of, as the probe recorded it or as it was printed."""

from __future__ import annotations

import re
from typing import NamedTuple

from holdfast.explain.evidence import Evidence
from holdfast.explain.finding import Fact
from holdfast.journal import events as ev


class FrameworkWarning(NamedTuple):
    text: str
    source: str
    recorded: bool  # by the probe, and not only printed

    @property
    def fact(self) -> Fact:
        return Fact("keras.warned", {"text": self.text}, self.source)


def warned_of(evidence: Evidence, pattern: str) -> FrameworkWarning | None:
    """The first warning of this, else the last line of the output that says it."""
    for warning in evidence.all(ev.WarningSeen):
        if re.search(pattern, warning.event.text):
            return FrameworkWarning(warning.event.text, warning.source, True)
    printed = evidence.output.last(pattern, advice=True)
    return FrameworkWarning(printed.text, printed.source, False) if printed is not None else None
