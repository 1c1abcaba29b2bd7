"""How often a training changed its weights, where gradients of several batches are added up for one update."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from holdfast.explain.finding import Fact
from holdfast.explain.readings.fits import Fit
from holdfast.explain.readings.numbers import whole_or_none
from holdfast.journal import events as ev

if TYPE_CHECKING:
    from holdfast.explain.evidence import Evidence


class Updates(NamedTuple):
    number: int
    batches: int  # of which gradients were computed
    fact: Fact | None  # None where each batch is an update

    @property
    def added_up(self) -> bool:
        return self.fact is not None


def updates_of(evidence: Evidence, fit: Fit) -> Updates:
    """Of a fit: by the optimizer's setting, else by its own count, as where a step of the user's own adds up."""
    steps, model = fit.end.steps, evidence.last(ev.ModelSeen)
    settings = model.event.optimizer_settings if model is not None else {}
    each = whole_or_none(settings.get("gradient_accumulation_steps")) or 1
    counted = (fit.end.iterations or 0) - (fit.start.iterations or 0)
    if each > 1 and model is not None:
        count = steps // each
        values = {"updates": count, "batches": steps, "each": each, "where": model.event.where}
        return Updates(count, steps, model.fact("updates.added-up", **values))
    if 0 < counted < steps and fit.done is not None:
        values = {"updates": counted, "batches": steps, "each": None, "where": ""}
        return Updates(counted, steps, fit.done.fact("updates.added-up", **values))
    return Updates(steps, steps, None)
