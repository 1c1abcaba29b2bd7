"""Which fits of a process are recorded in full: the first, then one now and then.

A script that fits its model at each move of a game would fill the disk with them. A fit that is not recorded is
deferred until the next one has ended. It is recorded after all when it takes long, when an exception leaves it, and
when it was the last; the others are summed up by one `FitDone`.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from ...journal.events import EpochStarted, Event, FitDone, FitStarted
from ..runtime.context import ProbeContext

if TYPE_CHECKING:
    from .fit_log import FitState

PART = "fit_sampling"
_ALL_FIRST = 50
_EVERY_S = 10.0  # then one in so long, later fewer
_EVERY_MOST_S = 60.0
_LONG_S = 1.0
_MAX_NOTABLE = 20  # things for which a fit is recorded in full
_KEPT = 4  # of such things, with a fit that is not recorded for them


class FitSampling:
    def __init__(self, context: ProbeContext, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._context = context
        self._now = monotonic
        self._recorded_at = self._summary_at = 0.0
        self._deferred: tuple[FitState, FitDone] | None = (
            None  # the newest that has ended and was not recorded
        )
        self._summary: FitDone | None = None  # those before it
        self._begun = 0
        self._notable = 0
        self._calls = 0  # of evaluate, by itself
        self._call_at = 0.0
        self._evaluation_recorded = True
        self._pid = 0

    def begins(self, fit: FitState) -> None:
        fit.began_at = self._now()
        self._begun += 1
        if self._begun > _ALL_FIRST and fit.began_at - self._recorded_at < self._every_s():
            fit.deferred.append(True)
            self._watch()
        else:
            self._recorded_at = fit.began_at

    def starts(self, fit: FitState, event: FitStarted) -> None:
        fit.started = event
        if not fit.deferred:
            self._record_summary(self._pop_deferred())
            self._context.record(event)

    def record(self, fit: FitState | None, event: Event) -> None:
        """What belongs to a fit, and is left out with it."""
        if fit is None or not fit.deferred:
            self._context.record(event)

    def record_notable(self, fit: FitState | None, event: Event) -> None:
        """A fit is recorded for it, the first times; later it is kept with the fit, in case that is the last one."""
        if fit is not None and fit.deferred:
            self._notable += 1
            if self._notable > _MAX_NOTABLE:
                fit.withheld = [*fit.withheld, event][:_KEPT]
                return
            self.record_in_full(fit)
        self._context.record(event)

    def record_in_full(self, fit: FitState) -> None:
        """What was deferred of a fit that is under way, unless it is recorded already."""
        if not _claim(fit) or fit.started is None:
            return
        self._recorded_at = self._now()
        self._record_summary(self._pop_deferred())
        self._record_begun(fit)
        if fit.epoch_open:
            self._context.record(EpochStarted(fit=fit.number, epoch=self._context.heartbeat.epoch))

    def fit_ended(self, fit: FitState, done: FitDone) -> None:
        if not _claim(fit):
            self._context.record(done)
            return
        earlier = self._pop_deferred()
        self._deferred = fit, done
        self._summary = _added(self._summary, earlier)
        if self._now() - self._summary_at >= self._every_s():
            self._record_summary(None)

    def evaluates(self) -> bool:
        """Whether an evaluate outside of any fit is recorded: the first, then one now and then."""
        self._calls += 1
        now = self._now()
        self._evaluation_recorded = self._calls <= _ALL_FIRST or now - self._call_at >= self._every_s()
        if self._evaluation_recorded:
            self._call_at = now
        return self._evaluation_recorded

    @property
    def evaluation_recorded(self) -> bool:
        return self._evaluation_recorded

    def check_long_fit(self, now: float) -> None:
        """In the background, once a second: a fit that takes long, or does not return, is recorded."""
        current = self._context.fits.current
        if current is not None and current.deferred and now - current.began_at > _LONG_S:
            self.record_in_full(current)

    def flush_at_exit(self) -> None:
        """At the end of the process the last fit is recorded in full."""
        deferred, self._deferred = self._deferred, None
        self._record_summary(None)
        if deferred is not None:
            fit, done = deferred
            self._record_begun(fit)
            self._context.record(done)

    def _watch(self) -> None:
        if self._pid != os.getpid():  # a forked child has its own, and its parent records what was before
            self._pid, self._deferred, self._summary = os.getpid(), None, None
            self._context.at_exit.append(self.flush_at_exit)
            self._context.background.every_second(PART, self.check_long_fit)

    def _record_begun(self, fit: FitState) -> None:
        if fit.started is not None:
            self._context.record(fit.started)
        for event in fit.withheld:
            self._context.record(event)

    def _pop_deferred(self) -> FitDone | None:
        deferred, self._deferred = self._deferred, None
        return deferred[1] if deferred is not None else None

    def _record_summary(self, newest: FitDone | None) -> None:
        summary, self._summary = _added(self._summary, newest), None
        if summary is not None:
            self._summary_at = self._now()
            self._context.record(summary)

    def _every_s(self) -> float:
        hours = (self._now() - self._context.started) / 3600
        return min(_EVERY_MOST_S, _EVERY_S * max(1.0, hours))


def _claim(fit: FitState) -> bool:
    """True for one caller alone: the thread that trains and the one in the background may both want to record it."""
    try:
        fit.deferred.pop()
    except IndexError:
        return False
    return True


def _added(one: FitDone | None, other: FitDone | None) -> FitDone | None:
    """Both, under the number of the later."""
    if other is None:
        return one
    if one is None:
        return other.changed(steps_by_epoch=[])
    changed = {one.weights_changed, other.weights_changed}
    return other.changed(
        fits=one.fits + other.fits,
        steps=one.steps + other.steps,
        epochs=one.epochs + other.epochs,
        epochs_done=one.epochs_done + other.epochs_done,
        stopped=one.stopped or other.stopped,
        raised=other.raised if one.raised else "",
        weights_changed=True if True in changed else None if None in changed else False,
        steps_by_epoch=[],
    )
