"""Which fits of a process are told in full: the first, then one now and then.

A script that fits its model at each move of a game would fill the disk with them. A fit that is not told is held until
the next one is over. It is told after all when it takes long, when an exception leaves it, and when it was the last;
the others are told together, by one `FitDone` that stands for all of them.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from ...journal.events import EpochStarted, Event, FitDone, FitStarted
from ..runtime import background_thread
from ..runtime.context import ProbeContext

if TYPE_CHECKING:
    from .fit_log import FitState

PART = "fits"
_ALL_FIRST = 50
_EVERY_S = 10.0  # then one in so long, later fewer
_EVERY_MOST_S = 60.0
_LONG_S = 1.0
_ALWAYS_TOLD = 20  # things worth a fit's being told for them
_KEPT = 4  # of such things, with a fit that is not told for them


class FitSampling:
    def __init__(self, session: ProbeContext, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._session = session
        self._now = monotonic
        self._told_at = self._together_at = 0.0
        self._held: tuple[FitState, FitDone] | None = None  # the newest that is over and was not told
        self._together: FitDone | None = None  # those before it
        self._begun = 0
        self._notable = 0
        self._calls = 0  # of evaluate, by itself
        self._call_at = 0.0
        self._call_told = True
        self._pid = 0

    def begins(self, fit: FitState) -> None:
        fit.began_at = self._now()
        self._begun += 1
        if self._begun > _ALL_FIRST and fit.began_at - self._told_at < self._every_s():
            fit.untold.append(True)
            self._watch()
        else:
            self._told_at = fit.began_at

    def starts(self, fit: FitState, event: FitStarted) -> None:
        fit.started = event
        if not fit.untold:
            self._say_together(self._pop_held())
            self._session.say(event)

    def say(self, fit: FitState | None, event: Event) -> None:
        """What belongs to a fit, and goes unsaid with it."""
        if fit is None or not fit.untold:
            self._session.say(event)

    def say_notable(self, fit: FitState | None, event: Event) -> None:
        """What a fit is told for, the first times; later it is kept with the fit, for the last one is told whole."""
        if fit is not None and fit.untold:
            self._notable += 1
            if self._notable > _ALWAYS_TOLD:
                fit.withheld = [*fit.withheld, event][:_KEPT]
                return
            self.tell(fit)
        self._session.say(event)

    def tell(self, fit: FitState) -> None:
        """Of a fit that is under way what was held back, unless it is told already."""
        if not _claim(fit) or fit.started is None:
            return
        self._told_at = self._now()
        self._say_together(self._pop_held())
        self._say_begun(fit)
        if fit.epoch_open:
            self._session.say(EpochStarted(fit=fit.number, epoch=self._session.progress.epoch))

    def over(self, fit: FitState, done: FitDone) -> None:
        if not _claim(fit):
            self._session.say(done)
            return
        earlier = self._pop_held()
        self._held = fit, done
        self._together = _added(self._together, earlier)
        if self._now() - self._together_at >= self._every_s():
            self._say_together(None)

    def evaluates(self) -> bool:
        """Whether an evaluate outside of any fit is told: the first, then one now and then."""
        self._calls += 1
        now = self._now()
        self._call_told = self._calls <= _ALL_FIRST or now - self._call_at >= self._every_s()
        if self._call_told:
            self._call_at = now
        return self._call_told

    @property
    def evaluation_told(self) -> bool:
        return self._call_told

    def look(self, now: float) -> None:
        """In the background, once a second: a fit that takes long, or does not come back, is told."""
        current = self._session.seen["fits"].current
        if current is not None and current.untold and now - current.began_at > _LONG_S:
            self.tell(current)

    def leave(self) -> None:
        """At the end of the process the last fit is told whole."""
        held, self._held = self._held, None
        self._say_together(None)
        if held is not None:
            fit, done = held
            self._say_begun(fit)
            self._session.say(done)

    def _watch(self) -> None:
        if self._pid != os.getpid():  # a forked child has its own, and its parent tells of what was before
            self._pid, self._held, self._together = os.getpid(), None, None
            self._session.at_exit.append(self.leave)
            background_thread.of(self._session).every_second(PART, self.look)

    def _say_begun(self, fit: FitState) -> None:
        if fit.started is not None:
            self._session.say(fit.started)
        for event in fit.withheld:
            self._session.say(event)

    def _pop_held(self) -> FitDone | None:
        held, self._held = self._held, None
        return held[1] if held is not None else None

    def _say_together(self, newest: FitDone | None) -> None:
        together, self._together = _added(self._together, newest), None
        if together is not None:
            self._together_at = self._now()
            self._session.say(together)

    def _every_s(self) -> float:
        hours = (self._now() - self._session.started) / 3600
        return min(_EVERY_MOST_S, _EVERY_S * max(1.0, hours))


def _claim(fit: FitState) -> bool:
    """True for one caller alone: the thread that trains and the one in the background may both come to tell it."""
    try:
        fit.untold.pop()
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
