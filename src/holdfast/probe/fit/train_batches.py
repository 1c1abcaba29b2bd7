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

from ...journal.beats import Phase
from ..memory_use import first_step_memory
from ..process import framework_versions
from ..runtime.context import ProbeContext
from ..state import fit_log, model_facts
from ..state.fit_log import FitState
from . import active_callback, loss_watch
from .active_callback import BATCH_END, ObservedCallbacks, here

PART = "callbacks"

_WHOLE_FIRST = 200  # steps of a fit that are all looked at
_WHOLE_EVERY_NS = 200_000_000


class TrainBatches:
    def __init__(self, session: ProbeContext) -> None:
        self.session = session
        self.progress = session.progress
        self.fits = fit_log.of(session)
        self.losses = loss_watch.of(session)
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

    def _is_compiled(self, fit: FitState) -> bool:
        """Whether the step of this model has run before; a second fit need not compile again."""
        return id(getattr(fit.model, "train_function", None)) in self._compiled

    def _first_of_epoch(self, fit: FitState) -> None:
        fit.first_step_s = round(fit.epoch_clock.seconds, 4)
        self._compiled.add(id(getattr(fit.model, "train_function", None)))
        self.session.guard("models", model_facts.seen, self.session, fit.model)
        self.session.guard("frameworks", framework_versions.devices_seen, self.session)
        self.session.guard(first_step_memory.PART, first_step_memory.mind, self.session, fit.model)


def hook(session: ProbeContext, kind: type) -> None:
    steps = TrainBatches(session)
    _hook_begin(session, kind, steps)
    _hook_end(session, kind, steps)


def _hook_begin(session: ProbeContext, kind: type, steps: TrainBatches) -> None:
    name = "on_train_batch_begin"
    original = vars(kind).get(name)
    if original is None:
        return

    @functools.wraps(original)
    def told(self: Any, batch: Any, logs: Any = None) -> Any:
        if session.closed or PART in session.off:
            return original(self, batch, logs)
        callbacks = self.callbacks
        if type(callbacks) is ObservedCallbacks and callbacks.at_batch_begin:
            result = active_callback.named(session, name, original, self, batch, logs)
        else:
            result = original(self, batch, logs)
        try:  # as `session.guard` does, without its cost
            steps.begins()
        except Exception as error:
            session.failed(PART, error)
        return result

    kind.on_train_batch_begin = told  # type: ignore[attr-defined]


def _hook_end(session: ProbeContext, kind: type, steps: TrainBatches) -> None:
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
        if type(callbacks) is not ObservedCallbacks or not callbacks.at_batch_end:
            return original(self, batch, logs)
        outer = here.hook, here.callbacks, here.callback  # as `calling.named` does, without its cost
        here.hook, here.callbacks = BATCH_END, callbacks
        try:
            return original(self, batch, logs)
        except BaseException as error:
            session.guard(PART, active_callback.raised, session, error)
            raise
        finally:
            here.hook, here.callbacks, here.callback = outer
            if ours and progress.quick:
                progress.turn(Phase.BETWEEN)
            elif ours:
                session.guard(PART, progress.enter, Phase.BETWEEN)

    kind.on_train_batch_end = told  # type: ignore[attr-defined]
