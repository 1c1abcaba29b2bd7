"""The two methods of Keras's list of callbacks that run at every step of a fit.

This code runs between two steps, with cold caches: there every call costs microseconds, so that it is flat. After the
first steps of a fit, those that follow within 200 ms of one that was observed in full are only counted: the newest
beat is updated, and their losses are read where Keras makes numbers of them.
"""

from __future__ import annotations

from threading import get_ident
from time import monotonic_ns
from typing import Any

from ...journal.beats import Phase
from ..runtime.context import ProbeContext
from ..runtime.wrapping import Function, replace
from ..state import loss_watch
from ..state.fit_log import FitState
from . import active_callback
from .active_callback import BATCH_END, ObservedCallbacks, active

PART = "train_batches"

_FULL_FIRST = 200  # steps of a fit that are all observed in full
_FULL_EVERY_NS = 200_000_000


class TrainBatches:
    def __init__(self, context: ProbeContext) -> None:
        self.context = context
        self.heartbeat = context.heartbeat
        self.fits = context.fits
        self.losses = context.losses
        self._compiled: set[int] = set()
        self._full_ns = 0
        self._counted = False  # the step before was only counted

    def begins(self) -> None:
        heartbeat = self.heartbeat
        if get_ident() != heartbeat.thread:
            return
        fit, phase, now = self.fits.current, Phase.STEP, monotonic_ns()
        if fit is not None:
            fit.step_began_ns = now
            if fit.first_step_s is None:  # the first of an epoch: it compiles, or fills buffers
                phase = Phase.FILL if self._is_compiled(fit) else Phase.COMPILE
        heartbeat.set_phase_quietly(phase, 0, now)

    def ends(self, batch: Any = 0, logs: Any = None) -> bool:
        """Whether it is a step of the thread that trains."""
        heartbeat, fit = self.heartbeat, self.fits.current
        if fit is None or get_ident() != heartbeat.thread:
            return False
        now, more = monotonic_ns(), int(batch) + 1 - heartbeat.train_batches
        if more < 1:  # a batch that is reported twice, or numbered again, is one more
            more = 1
        heartbeat.step += more
        heartbeat.train_batches += more
        heartbeat.phase = Phase.BETWEEN
        started = fit.step_began_ns or now
        if fit.first_step_s is None:
            heartbeat.step_ns = now - started
            self._first_of_epoch(fit)
        else:
            heartbeat.step_ns = now - fit.step_ended_ns
            heartbeat.compute_ns += now - started
            if now - self._full_ns < _FULL_EVERY_NS and heartbeat.step - fit.base_step > _FULL_FIRST:
                fit.step_ended_ns = now
                heartbeat.quick = self._counted = True
                return True
        fit.step_ended_ns = self._full_ns = now
        heartbeat.quick = False
        if self._counted:
            self._counted = False
            self.losses.weights_unwatched()
        self.losses.step_done(fit.model, logs)
        if fit.motion is not None and fit.motion.watching:
            self.context.motion.step_ends(fit, heartbeat.step - fit.base_step)
        return True

    def _is_compiled(self, fit: FitState) -> bool:
        """Whether the step of this model has run before; a second fit need not compile again."""
        return id(getattr(fit.model, "train_function", None)) in self._compiled

    def _first_of_epoch(self, fit: FitState) -> None:
        fit.first_step_s = round(fit.epoch_clock.seconds, 4)
        self._compiled.add(id(getattr(fit.model, "train_function", None)))
        self.context.models.seen(fit.model)
        self.context.frameworks.record_devices()
        self.context.memory.first_step_done(fit.model)


def hook(context: ProbeContext, kind: type) -> None:
    """Each method of the list is wrapped once.

    Keras 3 runs the callbacks of a batch's end in `_on_train_batch_end`, perhaps in a thread of its own: the logs are
    read there. Keras 2 has no such method: they are read around `on_train_batch_end` itself.
    """
    steps = TrainBatches(context)
    replace(kind, "on_train_batch_begin", lambda original: _begin(context, steps, original))
    if replace(kind, "_on_train_batch_end", lambda original: _reading_logs(context, original)):
        replace(kind, BATCH_END, lambda original: _end(context, steps, original))
    else:
        replace(kind, BATCH_END, lambda original: _reading_logs(context, _end(context, steps, original)))


def _begin(context: ProbeContext, steps: TrainBatches, original: Function) -> Function:
    def wrapped(self: Any, batch: Any, logs: Any = None) -> Any:
        if context.closed or PART in context.failed_parts:
            return original(self, batch, logs)
        callbacks = self.callbacks
        if type(callbacks) is ObservedCallbacks and callbacks.at_batch_begin:
            result = active_callback.call_observed(
                context, "on_train_batch_begin", original, self, batch, logs
            )
        else:
            result = original(self, batch, logs)
        try:  # as `context.guard` does, without its cost
            steps.begins()
        except Exception as error:
            context.failed(PART, error)
        return result

    return wrapped


def _end(context: ProbeContext, steps: TrainBatches, original: Function) -> Function:
    heartbeat = context.heartbeat

    def wrapped(self: Any, batch: Any, logs: Any = None) -> Any:
        if context.closed or PART in context.failed_parts:
            return original(self, batch, logs)
        ours, callbacks = False, self.callbacks
        try:
            ours = steps.ends(batch, logs)
        except Exception as error:
            context.failed(PART, error)
        if type(callbacks) is not ObservedCallbacks or not callbacks.at_batch_end:
            return original(self, batch, logs)
        outer = active.hook, active.callbacks, active.callback  # as `call_observed` does, without its cost
        active.hook, active.callbacks = BATCH_END, callbacks
        try:
            return original(self, batch, logs)
        except BaseException as error:
            context.guard(PART, active_callback.raised, context, error)
            raise
        finally:
            active.hook, active.callbacks, active.callback = outer
            if ours and heartbeat.quick:
                heartbeat.back_to(Phase.BETWEEN)
            elif ours:
                context.guard(PART, heartbeat.set_phase, Phase.BETWEEN)

    return wrapped


def _reading_logs(context: ProbeContext, original: Function) -> Function:
    def wrapped(self: Any, batch: Any, logs: Any = None, **kwargs: Any) -> Any:
        if active.callbacks is self.callbacks:  # between steps, where the list shows them first
            return original(self, batch, logs, **kwargs)
        active.logs = logs
        try:
            return original(self, batch, logs, **kwargs)
        except BaseException as error:
            context.guard(PART, active_callback.raised, context, error)
            raise
        finally:
            if not context.losses.on_cpu or context.losses.turned(active.logs):
                context.guard(loss_watch.PART, read_logs, context, batch)

    return wrapped


def read_logs(context: ProbeContext, batch: Any) -> None:
    """The logs of a batch, of which Keras has made numbers."""
    fit, logs = context.fits.current, active.logs
    if fit is not None and isinstance(logs, dict):
        batches = int(batch) + 1
        step, epoch, numbers = fit.epoch_base + batches, context.heartbeat.epoch, context.losses.numbers(logs)
        context.losses.logs_read(step, epoch, batches, numbers, fit.model)
