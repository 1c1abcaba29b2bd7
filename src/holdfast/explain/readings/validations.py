"""What the validations of a detector have found: precision over all classes, as the trainer records it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.explain.finding import Fact
from holdfast.explain.readings.numbers import number_of
from holdfast.journal import events as ev

if TYPE_CHECKING:
    from holdfast.explain.evidence import Evidence

#: Average precision at half overlap. Detectors that answer by chance had 0.000 to 0.01 on the test data.
_NEXT_TO_NOTHING = 0.05


def best_precision(evidence: Evidence) -> Fact | None:
    """The best AP50 of all validations; None where none of them had boxes to find."""
    seen = [(number_of(one.event.logs.get("AP50")), one) for one in evidence.all(ev.ValidationDone)]
    known = [(value, one) for value, one in seen if value is not None and value >= 0]
    if not known:
        return None
    value, best = max(known, key=lambda pair: pair[0])
    return best.fact("validation.best", precision=value, validations=len(known))


def found_nothing(evidence: Evidence) -> Fact | None:
    """Of a detector that was validated, and found next to nothing each time."""
    best = best_precision(evidence)
    return best if best is not None and best.values["precision"] < _NEXT_TO_NOTHING else None
