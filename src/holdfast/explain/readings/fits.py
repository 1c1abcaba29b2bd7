"""Calls of `fit`, put together from their events: what was planned, what was done, who stopped them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

from holdfast.explain.finding import Fact
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
        if self.done is not None and self.done.event.steps_by_epoch:
            return self.done.event.steps_by_epoch
        return [epoch.event.steps for epoch in self.epochs]

    @property
    def steps_by_whole_epoch(self) -> list[int]:
        """Without the last epoch where an error or a request to stop may have broken it off."""
        steps = [] if self.mixed else self.steps_by_epoch
        if self.done is None:
            return steps
        broken = self.done.event.stopped or (
            bool(self.done.event.raised) and self.done.event.epochs_done < self.done.event.epochs
        )
        return steps[:-1] if broken else steps

    @property
    def mixed(self) -> bool:
        """Epochs of another fit, in another thread, were counted with its own: they do not come in order."""
        numbers = [said.event.epoch for said in self.epochs]
        return any(later <= earlier for earlier, later in pairwise(numbers))

    @property
    def planned_epochs(self) -> int | None:
        if self.started is None or self.started.event.epochs is None:
            return None
        return max(0, self.started.event.epochs - self.started.event.initial_epoch)

    @property
    def planned_steps(self) -> int | None:
        """Training steps of the whole fit as planned; where no plan is known, as the first epoch had them."""
        epochs = self.planned_epochs
        if epochs is None or self.started is None:
            return None
        per_epoch = self.started.event.planned_steps_per_epoch or self.started.event.steps_per_epoch
        if per_epoch is None or per_epoch < 0:
            done = self.steps_by_epoch
            per_epoch = done[0] if done and done[0] else None
        return None if per_epoch is None else epochs * per_epoch

    @property
    def steps(self) -> int:
        """Steps done. A probe that lost its callbacks counts none; the optimizer's own count then tells."""
        counted = self.done.event.steps if self.done is not None else sum(self.steps_by_epoch)
        if counted or self.started is None or self.done is None:
            return counted
        before, after = self.started.event.iterations or 0, self.done.event.iterations or 0
        phantom = max(
            self.done.event.epochs, self.planned_epochs or 0
        )  # Keras counts one more an epoch without data
        return after - before if after - before > phantom + 1 else 0

    @property
    def lost_count(self) -> bool:
        """It ended by itself without having begun an epoch: the probe lost sight of it, for Keras begins one always."""
        if self.done is None or self.done.event.raised or self.steps:
            return False
        return self.done.event.epochs == 0 and bool(self.planned_epochs)

    def by_epoch(self, planned: int | None = None) -> Fact:
        """Its steps, epoch by epoch, and how many an epoch was planned to have."""
        ended = self.done or (self.epochs[-1] if self.epochs else None)
        values = {"steps": self.steps_by_epoch, "planned": planned}
        return Fact("steps.by-epoch", values, ended.source if ended is not None else "journal.jsonl")

    def callback(self, name: str) -> dict[str, Any] | None:
        """The callback of that class among those given to the fit."""
        for one in self.started.event.callbacks if self.started else []:
            if one.get("class") == name:
                return one
        return None


class ShortEpochs(NamedTuple):
    """A fit with epochs of fewer steps than planned."""

    fit: Fit
    planned: int
    steps: list[int]  # by epoch


def steps_short(evidence: Evidence) -> ShortEpochs | None:
    """A fit with epochs of clearly fewer steps than planned, that nobody asked to stop."""
    if any(fit.mixed for fit in evidence.fits):
        return None
    for fit in reversed(evidence.fits):
        started = fit.started
        if started is None or (fit.done is not None and (fit.done.event.raised or fit.done.event.stopped)):
            continue
        planned = started.event.steps_per_epoch or started.event.planned_steps_per_epoch
        steps = fit.steps_by_epoch
        if not planned or planned < 2 or not sum(steps):
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
    if fit is not None and fit.done is not None and not fit.done.event.stopped and fit.done.line > asked.line:
        return None
    if (
        fit is not None
        and fit.planned_epochs
        and fit.done is not None
        and fit.done.event.epochs_done >= fit.planned_epochs
    ):
        return None  # it was asked in the last epoch, and changed nothing
    return asked
