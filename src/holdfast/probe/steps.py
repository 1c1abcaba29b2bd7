"""The two methods of Keras's list of callbacks that run at every step of a fit.

What stands here runs between two steps, with cold caches: there every call costs microseconds, so that the way
through it is flat. After the first steps of a fit, those that follow within 50 ms of one that was looked at whole are
only counted: the beat is moved on, and their losses are taken where Keras makes numbers of them.
"""

from __future__ import annotations

import functools
from threading import get_ident
from time import perf_counter_ns
from typing import Any

from ..journal.beats import Phase
from . import calling, fits, footprint, frameworks, losses, models
from .calling import WatchedCallbacks
from .fits import Fit
from .session import Session

PART = "callbacks"

_WHOLE_FIRST = 200  # steps of a fit that are all looked at
_WHOLE_EVERY_NS = 50_000_000


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
        fit, phase = self.fits.current, Phase.STEP
        if fit is not None:
            fit.step_began_ns = perf_counter_ns()
            if fit.first_step_s is None:  # the first of an epoch: it compiles, or fills buffers
                phase = Phase.FILL if self._is_compiled(fit) else Phase.COMPILE
        progress.shift(phase)

    def ends(self, batch: Any = 0, logs: Any = None) -> None:
        progress, fit = self.progress, self.fits.current
        if fit is None or get_ident() != progress.thread:
            return
        now, done = perf_counter_ns(), int(batch) + 1
        progress.step += max(1, done - progress.train_batches)
        progress.train_batches = max(done, progress.train_batches + 1)
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
                return
        fit.step_ended_ns = self._whole_ns = now
        progress.quick = False
        if self._counted:
            self._counted = False
            self.losses.weights_unwatched()
        self.losses.step_done(fit.model, logs)

    def callbacks_done(self) -> None:
        progress = self.progress
        if get_ident() == progress.thread and not progress.quick:
            progress.enter(Phase.BETWEEN)

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
    def told(self: Any, *args: Any, **kwargs: Any) -> Any:
        if session.closed or PART in session.off:
            return original(self, *args, **kwargs)
        callbacks = self.callbacks
        if type(callbacks) is WatchedCallbacks and callbacks.at_batches[0]:
            result = calling.named(session, name, original, self, *args, **kwargs)
        else:
            result = original(self, *args, **kwargs)
        try:  # as `session.guard` does, without its cost
            steps.begins()
        except Exception as error:
            session.failed(PART, error)
        return result

    kind.on_train_batch_begin = told  # type: ignore[attr-defined]


def _hook_end(session: Session, kind: type, steps: Steps) -> None:
    name = "on_train_batch_end"
    original = vars(kind).get(name)
    if original is None:
        return

    @functools.wraps(original)
    def told(self: Any, *args: Any, **kwargs: Any) -> Any:
        if session.closed or PART in session.off:
            return original(self, *args, **kwargs)
        try:
            steps.ends(*args, **kwargs)
        except Exception as error:
            session.failed(PART, error)
        callbacks = self.callbacks
        if type(callbacks) is not WatchedCallbacks or not callbacks.at_batches[1]:
            return original(self, *args, **kwargs)
        result = calling.named(session, name, original, self, *args, **kwargs)
        try:
            steps.callbacks_done()
        except Exception as error:
            session.failed(PART, error)
        return result

    kind.on_train_batch_end = told  # type: ignore[attr-defined]
