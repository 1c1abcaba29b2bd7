"""Training was done, and its validation saw nothing: no metric of it exists, which others then miss."""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

from holdfast.explain.evidence import Evidence
from holdfast.explain.finding import Fact, Strength, facts
from holdfast.explain.readings.error import ErrorText, Quote
from holdfast.explain.readings.pipeline import sized_nodes
from holdfast.explain.readings.recorded import Recorded
from holdfast.explain.readings.warnings_seen import warned_of
from holdfast.journal import events as ev

#: Passes over data that never gave a batch. A single one may be a look whether there is any. Chosen.
_LEAST_PASSES = 2
_METRIC_MISSED = ErrorText(r"conditioned on metric|received monitor=|metric \S+ which is not (available|set)")
#: A mean over no batches, or a name that only a batch sets.
_FOLLOWS = ErrorText(
    r"ZeroDivisionError|UnboundLocalError|NameError: name '\w+' is not defined|StatisticsError|StopIteration|"
    r"need at least one array|expected a non-empty|is empty|empty (list|sequence)|mean requires at least one"
)
_LIGHTNING_SAYS = r"Total length of `\w+` across ranks is zero"


class EmptyValidation(NamedTuple):
    where: str
    seen: list[Fact]
    rows: int | None
    batch: int | None  # where the incomplete batch is dropped
    missed: Quote | None  # the error that a metric was missing
    follows: Quote | None  # another error that comes of it
    monitored: bool  # a callback of the fit acts on a metric of it
    certain: bool

    @property
    def ends(self) -> bool:
        return self.missed is not None or self.follows is not None

    @property
    def strength(self) -> Strength:
        return Strength.established_if(self.certain or self.missed is not None)

    @property
    def led_to(self) -> str | None:
        return "monitor-missing" if self.missed is not None or self.monitored else None

    @property
    def less_than_a_batch(self) -> bool:
        return self.rows is not None and self.batch is not None and 0 < self.rows < self.batch


def empty_validation(evidence: Evidence) -> EmptyValidation | None:
    if not evidence.step and not any(fit.steps for fit in evidence.fits):
        return None
    return _of_fit(evidence) or _of_loop(evidence) or _of_loader(evidence)


def _of_fit(evidence: Evidence) -> EmptyValidation | None:
    fit = evidence.fit
    done = [one for one in evidence.all(ev.ValidationDone) if fit is not None and one.event.fit == fit.number]
    if fit is None or not done or any(one.event.batches or one.event.logs for one in done):
        return None
    monitors = [str(one.get("settings", {}).get("monitor", "")) for one in fit.start.callbacks]
    rows, batch, dropped = _dropped(evidence)
    return EmptyValidation(
        evidence.dataset("validation").where,
        facts(done[-1].fact("validations.without-batches", count=len(done)), dropped),
        rows, batch, _METRIC_MISSED.match(evidence), None,
        monitored=any(one.startswith("val_") for one in monitors), certain=True,
    )  # fmt: skip


def _of_loop(evidence: Evidence) -> EmptyValidation | None:
    """A pass of a loop of the user's own, or of a library's, in which no step is done."""
    newest = {one.event.where: one for one in evidence.all(ev.LaterPassEmpty) if not one.event.trained}
    empty = [one for one in newest.values() if one.event.passes]
    if not empty:
        return None
    one = empty[-1]
    rows, batch, dropped = _dropped(evidence)
    missed, follows = _METRIC_MISSED.match(evidence), _FOLLOWS.match(evidence)
    known = dropped is not None or evidence.dataset("validation").cardinality == 0
    if missed is None and follows is None and (one.event.passes < _LEAST_PASSES or not known):
        return None
    passed = one.fact("loop.validation-empty", passes=one.event.passes, where=one.event.where)
    return EmptyValidation(
        one.event.where, facts(passed, dropped, (missed or follows) and _quoted(missed or follows)),
        rows, batch, missed, follows, monitored=False, certain=False,
    )  # fmt: skip


def _of_loader(evidence: Evidence) -> EmptyValidation | None:
    """A library asks a loader of torch for its length, and leaves out a validation of none."""
    empty = evidence.all(ev.LoaderEmpty)
    missed, warned = _METRIC_MISSED.match(evidence), warned_of(evidence, _LIGHTNING_SAYS)
    if not empty or (missed is None and warned is None):
        return None
    event = empty[-1].event
    values = {"rows": event.rows, "batch": event.batch, "where": event.where}
    said = Fact("error.quoted", {"text": warned.text}, warned.source) if warned is not None else None
    return EmptyValidation(
        event.where, facts(empty[-1].fact("loader.without-batches", **values), said, missed and missed.fact),
        event.rows, event.batch, missed, None, monitored=False, certain=False,
    )  # fmt: skip


def _quoted(quote: Quote | None) -> list[Fact]:
    return [quote.fact] if quote is not None else []


def _dropped(evidence: Evidence) -> tuple[int | None, int | None, Fact | None]:
    """Rows and batch of a dataset for validation that has less than one batch, and drops it."""
    seen: list[Recorded[ev.DatasetSeen]] = [
        one for one in evidence.all(ev.DatasetSeen) if one.event.role == "validation"
    ]
    for before, node in (pair for one in seen for pair in pairwise(sized_nodes(one, None, {}))):
        batch, rows = node.settings.get("batch_size"), before.cardinality
        drops = node.op == "batch" and node.settings.get("drop_remainder")
        if drops and isinstance(batch, int) and rows is not None and 0 < rows < batch:
            values = {"records": rows, "batch": batch, "where": node.where}
            return rows, batch, Fact("pipeline.drops-remainder", values, node.source)
    return None, None, None
