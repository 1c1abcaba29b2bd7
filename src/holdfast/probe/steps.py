"""The two methods of Keras's list of callbacks that run at every step of a fit.

What stands here runs between two steps, with cold caches: there every call costs microseconds, so that the way
through it is flat. After the first steps of a fit, those that follow within 200 ms of one that was looked at whole are
only counted: the beat is moved on, and their losses are taken where Keras makes numbers of them.
"""

from __future__ import annotations

import functools
from threading import get_ident
from time import monotonic_ns
from typing import Any

from ..journal.beats import Phase
from . import calling, fits, footprint, frameworks, losses, models
from .calling import BATCH_END, WatchedCallbacks, here
from .fits import Fit
from .session import Session

PART = "callbacks"

_WHOLE_FIRST = 200  # steps of a fit that are all looked at
_WHOLE_EVERY_NS = 200_000_000


class Steps:
    def __init__(self, session: Session) -> None:
        self.session = session
        self.progress = session.progress
        self.fits = fits.of(session)
        self.losses = losses.of(session)
        self._compiled: set[int] = set()
        self._whole_ns = 0
        self._counted = False  # the step before was only counted

    def begins(self) -> None:
        progress = self.progress
        if get_ident() != progress.thread:
            return
        fit, phase, now = self.fits.current, Phase.STEP, monotonic_ns()
        if fit is not None:
            fit.step_began_ns = now
            if fit.first_step_s is None:  # the first of an epoch: it compiles, or fills buffers
                phase = Phase.FILL if self._is_compiled(fit) else Phase.COMPILE
        progress.shift(phase, 0, now)

    def ends(self, batch: Any = 0, logs: Any = None) -> bool:
        """Whether it is a step of the thread that trains."""
        progress, fit = self.progress, self.fits.current
        if fit is None or get_ident() != progress.thread:
            return False
        now, more = monotonic_ns(), int(batch) + 1 - progress.train_batches
        if more < 1:  # a batch that is told twice, or numbered anew, is one more
            more = 1
        progress.step += more
        progress.train_batches += more
        progress.phase = Phase.BETWEEN
        started = fit.step_began_ns or now
        if fit.first_step_s is None:
            progress.step_ns = now - started
            self._first_of_epoch(fit)
        else:
            progress.step_ns = now - fit.step_ended_ns
            progress.compute_ns += now - started
            if now - self._whole_ns < _WHOLE_EVERY_NS and progress.step - fit.base_step > _WHOLE_FIRST:
                fit.step_ended_ns = now
                progress.quick = self._counted = True
                return True
        fit.step_ended_ns = self._whole_ns = now
        progress.quick = False
        if self._counted:
            self._counted = False
            self.losses.weights_unwatched()
        self.losses.step_done(fit.model, logs)
        return True

    def _is_compiled(self, fit: Fit) -> bool:
        """Whether the step of this model has run before; a second fit need not compile again."""
        return id(getattr(fit.model, "train_function", None)) in self._compiled

    def _first_of_epoch(self, fit: Fit) -> None:
        fit.first_step_s = round(fit.epoch_clock.seconds, 4)
        self._compiled.add(id(getattr(fit.model, "train_function", None)))
        self.session.guard("models", models.seen, self.session, fit.model)
        self.session.guard("frameworks", frameworks.devices_seen, self.session)
        self.session.guard(footprint.PART, footprint.mind, self.session, fit.model)


def hook(session: Session, kind: type) -> None:
    steps = Steps(session)
    _hook_begin(session, kind, steps)
    _hook_end(session, kind, steps)


def _hook_begin(session: Session, kind: type, steps: Steps) -> None:
    name = "on_train_batch_begin"
    original = vars(kind).get(name)
    if original is None:
        return

    @functools.wraps(original)
    def told(self: Any, batch: Any, logs: Any = None) -> Any:
        if session.closed or PART in session.off:
            return original(self, batch, logs)
        callbacks = self.callbacks
        if type(callbacks) is WatchedCallbacks and callbacks.at_batch_begin:
            result = calling.named(session, name, original, self, batch, logs)
        else:
            result = original(self, batch, logs)
        try:  # as `session.guard` does, without its cost
            steps.begins()
        except Exception as error:
            session.failed(PART, error)
        return result

    kind.on_train_batch_begin = told  # type: ignore[attr-defined]


def _hook_end(session: Session, kind: type, steps: Steps) -> None:
    original = vars(kind).get(BATCH_END)
    progress = session.progress
    if original is None:
        return

    @functools.wraps(original)
    def told(self: Any, batch: Any, logs: Any = None) -> Any:
        if session.closed or PART in session.off:
            return original(self, batch, logs)
        ours, callbacks = False, self.callbacks
        try:
            ours = steps.ends(batch, logs)
        except Exception as error:
            session.failed(PART, error)
        if type(callbacks) is not WatchedCallbacks or not callbacks.at_batch_end:
            return original(self, batch, logs)
        outer = here.hook, here.callbacks, here.callback  # as `calling.named` does, without its cost
        here.hook, here.callbacks = BATCH_END, callbacks
        try:
            return original(self, batch, logs)
        except BaseException as error:
            session.guard(PART, calling.raised, session, error)
            raise
        finally:
            here.hook, here.callbacks, here.callback = outer
            if ours and progress.quick:
                progress.turn(Phase.BETWEEN)
            elif ours:
                session.guard(PART, progress.enter, Phase.BETWEEN)

    kind.on_train_batch_end = told  # type: ignore[attr-defined]
