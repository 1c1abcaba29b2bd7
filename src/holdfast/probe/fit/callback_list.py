"""Wraps Keras's list of callbacks: phases, counts, and which callback is running.

The list is wrapped and nothing is added to it: a callback more, with a method for batches, would switch
Keras from calling callbacks in a thread of their own to calling them between the steps.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from threading import get_ident
from time import monotonic_ns
from typing import Any

from ...journal.beats import Phase
from ..runtime import user_lines
from ..runtime.context import ProbeContext
from ..runtime.heartbeat import Stopwatch
from ..runtime.hook import Hook
from ..runtime.wrapping import Function, replace
from ..state import fit_log, loss_watch
from . import active_callback, callback_settings, model_saving, train_batches
from .active_callback import ObservedCallbacks, active

PART = "callback_list"


def hook_keras3(context: ProbeContext, module: Any) -> None:
    python_utils = getattr(module, "python_utils", None)
    if python_utils is not None:
        replace(python_utils, "pythonify_logs", _keeping_logs)
    hook_list(context, module.CallbackList)


def hook_keras2(context: ProbeContext, module: Any) -> None:
    """`callbacks`. Keras 3 has a module of that name too, with another list in it.

    Before TensorFlow 2.5 the list has no `_process_logs`: its callbacks are given values in host memory.
    """
    kind = getattr(module, "CallbackList", None)
    if kind is not None and hasattr(kind, "_call_batch_hook"):
        hook_list(context, kind)
        replace(kind, "_process_logs", _keeping_logs)


def hook_list(context: ProbeContext, kind: type) -> None:
    observer = CallbackListObserver(context)
    _after_init(context, kind, observer)
    wrap = functools.partial(_wrap, context, kind)
    wrap("on_train_begin", observer.train_begins, observer.train_begun)
    wrap("on_train_end", None, observer.between)
    wrap("on_epoch_begin", observer.epoch_begins, observer.first_batch_awaited)
    wrap("on_epoch_end", observer.between, observer.between)
    train_batches.hook(context, kind)
    wrap("on_test_begin", observer.test_begins, observer.testing)
    wrap("on_test_batch_begin", None, observer.testing_quietly)
    wrap("on_test_batch_end", observer.test_batch_ends, observer.testing_quietly)
    wrap("on_test_end", None, observer.test_ends)
    wrap("on_predict_begin", observer.predict_begins, None)
    wrap("on_predict_batch_begin", None, None)
    wrap("on_predict_batch_end", observer.predict_batch_ends, None)
    wrap("on_predict_end", None, None)


class CallbackListObserver:
    """What is done at each of the list's methods."""

    def __init__(self, context: ProbeContext) -> None:
        self.context = context
        self.heartbeat = context.heartbeat
        self.fits = context.fits
        self.losses = context.losses

    # -- which callback ---------------------------------------------------------------------------

    def callbacks_begin(self, hook: str) -> None:
        self.context.guard(PART, self._logs_are_numbers, hook)

    def batch_callbacks_begin(self) -> None:
        """Before one of them stops because of the loss. On the CPU it was read at its step, unless that was counted."""
        if not self.losses.on_cpu or (self.heartbeat.quick and self.losses.turned(active.logs)):
            self.context.guard(
                loss_watch.PART, train_batches.read_logs, self.context, self.heartbeat.train_batches - 1
            )

    def _logs_are_numbers(self, hook: str) -> None:
        """Keras has just made Python numbers of the logs: they are read here without waiting for the device."""
        fit, logs = self.fits.current, active.logs
        if hook == "on_epoch_end" and fit is not None:
            self.fits.epoch_ends(fit, active.argument, fit_log.numbers(logs))
            self.losses.epoch_done(self.heartbeat.step, self.heartbeat.epoch, fit_log.numbers(logs))
            self.context.guard(loss_watch.PART, self.losses.epoch_over, fit.model)
            self.context.learning.epoch_ends(fit)
            steps = self.heartbeat.step - fit.base_step
            self.context.motion.epoch_ends(fit, steps)
        elif hook == "on_test_end":
            clock, self.fits.validation_clock = self.fits.validation_clock, None
            self.fits.validation_ends(fit, fit_log.numbers(logs), clock.seconds if clock else 0.0)

    def callback_begins(self, index: int) -> None:
        try:
            heartbeat = self.heartbeat
            if get_ident() == heartbeat.thread:
                heartbeat.set_phase_quietly(Phase.CALLBACK, index + 1, monotonic_ns())
        except Exception as error:
            self.context.failed(PART, error)

    # -- training ---------------------------------------------------------------------------------

    def train_begins(self, callbacks: Any, *_: Any) -> None:
        fit = self.fits.current
        if fit is None:  # a CallbackList in a loop of the user's own
            fit = self.fits.begin(getattr(callbacks, "_model", None), {}, user_lines.caller_line())
            fit.data_wait = "none"
        fit.callbacks = callbacks
        steps = (getattr(callbacks, "params", None) or {}).get("steps")
        fit.planned_steps = steps if isinstance(steps, int) else fit.planned_steps
        each = list.__iter__(callbacks.callbacks)
        self.fits.record_started(fit, [callback_settings.describe(callback) for callback in each])

    def train_begun(self, callbacks: Any, *_: Any) -> None:
        fit = self.fits.current
        if fit is not None:
            self.context.guard(model_saving.PART, model_saving.backup_restored, self.context, fit.model)
            if fit.motion is not None:
                self.context.motion.fit_begins(fit)
        self.between(callbacks)

    def epoch_begins(self, callbacks: Any, epoch: Any = 0, *_: Any) -> None:
        fit = self.fits.current
        if isinstance(callbacks.callbacks, ObservedCallbacks):
            callbacks.callbacks.plan_batches()
        if fit is not None:
            self.fits.epoch_begins(fit, int(epoch))
            self.losses.last_logs = None  # a stop is recorded with the logs of its own epoch

    def first_batch_awaited(self, callbacks: Any, *_: Any) -> None:
        if self.heartbeat.is_training_thread:
            self.heartbeat.set_phase(Phase.FILL)

    def between(self, callbacks: Any, *_: Any) -> None:
        if self.heartbeat.is_training_thread:
            self.heartbeat.set_phase(Phase.BETWEEN)

    # -- validation and prediction -----------------------------------------------------------------

    def test_begins(self, callbacks: Any, *_: Any) -> None:
        self.fits.validation_clock = Stopwatch()
        self.fits.validation_begins(self.fits.current, self.context.data.validation_batches)
        if self.heartbeat.is_training_thread:
            self.heartbeat.set_phase(Phase.VALIDATION)

    def testing(self, callbacks: Any, *_: Any) -> None:
        if self.heartbeat.is_training_thread:
            self.heartbeat.set_phase(Phase.VALIDATION)

    def testing_quietly(self, callbacks: Any, *_: Any) -> None:
        if self.heartbeat.phase is Phase.CALLBACK and self.heartbeat.is_training_thread:
            self.heartbeat.set_phase(Phase.VALIDATION)

    def test_batch_ends(self, callbacks: Any, batch: Any = 0, *_: Any) -> None:
        if self.heartbeat.is_training_thread:
            self.heartbeat.test_batches = int(batch) + 1
            self.heartbeat.set_phase(Phase.VALIDATION)

    def test_ends(self, callbacks: Any, *_: Any) -> None:
        if self.heartbeat.is_training_thread:
            self.heartbeat.set_phase(Phase.BETWEEN if self.fits.current else Phase.AFTER)

    def predict_begins(self, callbacks: Any, *_: Any) -> None:
        self.fits.predictions.batches = 0

    def predict_batch_ends(self, callbacks: Any, batch: Any = 0, *_: Any) -> None:
        self.fits.predictions.batches = int(batch) + 1
        if self.heartbeat.is_training_thread:
            self.heartbeat.set_phase(Phase.PREDICT)


def _wrap(
    context: ProbeContext,
    kind: type,
    name: str,
    before: Callable[..., Any] | None,
    after: Callable[..., Any] | None,
) -> None:
    """A method of the list: its argument and logs are kept for the observers, and each callback is known as it runs."""

    def build(original: Function) -> Function:
        def wrapped(self: Any, *args: Any, **kwargs: Any) -> Any:
            if not context.is_on(PART):
                return original(self, *args, **kwargs)
            active.argument = args[0] if args else kwargs.get("epoch", kwargs.get("batch"))
            active.logs = args[-1] if args and isinstance(args[-1], dict) else kwargs.get("logs")
            if before is not None:
                context.guard(PART, before, self, active.argument)
            result = active_callback.call_observed(context, name, original, self, *args, **kwargs)
            if after is not None:
                context.guard(PART, after, self)
            return result

        return wrapped

    replace(kind, name, build)


def _keeping_logs(original: Function) -> Function:
    """Around a function in which Keras makes Python numbers of logs."""

    def wrapped(*args: Any, **kwargs: Any) -> Any:
        logs = original(*args, **kwargs)
        if isinstance(logs, dict):
            active.logs = logs
        return logs

    return wrapped


def _after_init(context: ProbeContext, kind: type, observer: CallbackListObserver) -> None:
    def build(original: Function) -> Function:
        def wrapped(self: Any, *args: Any, **kwargs: Any) -> None:
            original(self, *args, **kwargs)
            if context.is_on(PART) and type(self.callbacks) is list:
                self.callbacks = ObservedCallbacks(self.callbacks, observer)

        return wrapped

    replace(kind, "__init__", build)


KERAS_HOOKS = (Hook(PART, "keras.src.callbacks.callback_list", hook_keras3),)
KERAS2_HOOKS = (Hook(PART, "callbacks", hook_keras2),)
