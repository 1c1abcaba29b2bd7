"""Calls of `fit`, put together from their events: what was planned, what was done, who stopped them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from holdfast.explain.finding import Fact
from holdfast.explain.readings.numbers import whole_or_none
from holdfast.explain.readings.recorded import Recorded
from holdfast.journal import events as ev

if TYPE_CHECKING:
    from holdfast.explain.evidence import Evidence


@dataclass(frozen=True, slots=True)
class Fit:
    """One call of `fit`, put together from its events."""

    number: int
    started: Recorded[ev.FitStarted] | None
    done: Recorded[ev.FitDone] | None
    epochs: tuple[Recorded[ev.EpochDone], ...]
    #: What a callback restored between its start and its end.
    restored: Recorded[ev.Restored] | None = None

    @property
    def start(self) -> ev.FitStarted:
        """What it was called with; empty where that was not seen."""
        return self.started.event if self.started is not None else ev.FitStarted()

    @property
    def end(self) -> ev.FitDone:
        """How it ended; empty where it has not, or that was not seen."""
        return self.done.event if self.done is not None else ev.FitDone()

    @property
    def finished(self) -> bool:
        """It ended, and not by an exception."""
        return self.done is not None and not self.end.raised

    @property
    def steps_by_epoch(self) -> list[int]:
        return self.end.steps_by_epoch or [epoch.event.steps for epoch in self.epochs]

    @property
    def steps_by_whole_epoch(self) -> list[int]:
        """Without the last epoch where an error or a request to stop may have broken it off."""
        steps = [] if self.mixed else self.steps_by_epoch
        left = bool(self.end.raised) and self.end.epochs_done < self.end.epochs
        return steps[:-1] if self.end.stopped or left else steps

    @property
    def mixed(self) -> bool:
        """Epochs of another fit, in another thread, were counted with its own: they do not come in order."""
        numbers = [one.event.epoch for one in self.epochs]
        return any(later <= earlier for earlier, later in pairwise(numbers))

    @property
    def planned_epochs(self) -> int | None:
        return None if self.start.epochs is None else max(0, self.start.epochs - self.start.initial_epoch)

    @property
    def planned_steps(self) -> int | None:
        """Training steps of the whole fit as planned; where no plan is known, as the first epoch had them."""
        epochs = self.planned_epochs
        per_epoch = self.start.planned_steps_per_epoch or self.start.steps_per_epoch
        if per_epoch is None or per_epoch < 0:
            per_epoch = next((steps for steps in self.steps_by_epoch[:1] if steps), None)
        return None if per_epoch is None or epochs is None else epochs * per_epoch

    @property
    def steps(self) -> int:
        """Steps done. A probe that lost its callbacks counts none; the optimizer's own count is used then."""
        counted = self.end.steps if self.done is not None else sum(self.steps_by_epoch)
        if counted or self.started is None or self.done is None:
            return counted
        counted_by_optimizer = (self.end.iterations or 0) - self._iterations_before
        # Keras counts one more an epoch without data.
        phantom = max(self.end.epochs, self.planned_epochs or 0)
        return counted_by_optimizer if counted_by_optimizer > phantom + 1 else 0

    @property
    def _iterations_before(self) -> int:
        """Steps that the optimizer had counted before: those of a restored state are not of this fit."""
        restored = self.restored.event.iterations if self.restored is not None else None
        return max(self.start.iterations or 0, restored or 0)

    @property
    def lost_count(self) -> bool:
        """It ended by itself without having begun an epoch: the probe lost sight of it, for Keras begins one always."""
        return self.finished and not self.steps and self.end.epochs == 0 and bool(self.planned_epochs)

    def by_epoch(self, planned: int | None = None) -> Fact:
        """Its steps, epoch by epoch, and how many an epoch was planned to have."""
        ended = self.done or (self.epochs[-1] if self.epochs else None)
        values = {"steps": self.steps_by_epoch, "planned": planned}
        return Fact("steps.by-epoch", values, ended.source if ended is not None else "journal.jsonl")


class ShortEpochs(NamedTuple):
    """A fit with epochs of fewer steps than planned."""

    fit: Fit
    planned: int
    steps: list[int]  # by epoch

    @property
    def fact(self) -> Fact:
        return self.fit.by_epoch(self.planned)


def steps_short(evidence: Evidence) -> ShortEpochs | None:
    """A fit with epochs of clearly fewer steps than planned, that nobody asked to stop."""
    if any(fit.mixed for fit in evidence.fits):
        return None
    for fit in reversed(evidence.fits):
        planned, steps = fit.start.steps_per_epoch or fit.start.planned_steps_per_epoch, fit.steps_by_epoch
        if fit.end.raised or fit.end.stopped or not planned or planned < 2 or not sum(steps):
            continue
        if any(count < planned for count in steps):
            return ShortEpochs(fit, planned, steps)
    return None


def stop_request(
    evidence: Evidence, wanted: Callable[[str, dict[str, object]], bool]
) -> Recorded[ev.StopRequested] | None:
    """The request that ended the last fit, if it is of the wanted kind."""
    asked = evidence.last(ev.StopRequested)
    if asked is None or not wanted(asked.event.by, asked.event.settings):
        return None
    fit = evidence.fit
    if fit is None or fit.done is None:
        return asked
    stopped = fit.end.stopped or fit.done.line <= asked.line
    # Asked in the last epoch, it changed nothing.
    in_last_epoch = bool(fit.planned_epochs) and fit.end.epochs_done >= (fit.planned_epochs or 0)
    return asked if stopped and not in_last_epoch else None


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
