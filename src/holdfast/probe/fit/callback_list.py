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
from ..state import fit_log
from ..state.fit_log import FitState
from . import active_callback, loss_watch, model_saving, stop_training, train_batches
from .active_callback import ObservedCallbacks, here

PART = "callbacks"

_SETTINGS = (
    "monitor", "patience", "min_delta", "mode", "baseline", "start_from_epoch", "restore_best_weights", "factor",
    "min_lr", "cooldown", "filepath", "_current_filepath", "save_freq", "save_best_only", "save_weights_only",
    "backup_dir", "delete_checkpoint", "double_checkpoint", "log_dir", "filename", "update_freq", "histogram_freq",
    "verbose", "best", "wait", "stopped_epoch", "best_epoch", "cooldown_counter",
)  # fmt: skip


def hook_keras3(session: ProbeContext, module: Any) -> None:
    _keep_python_logs(session, getattr(module, "python_utils", None))
    hook_list(session, module.CallbackList)


def hook_list(session: ProbeContext, kind: type) -> None:
    watch = CallbackListObserver(session)
    _after_init(session, kind, watch)
    wrap = functools.partial(_wrap, session, kind)
    if session.made_to_fail(PART + "-later"):
        watch.epoch_begins = _made_to_fail  # type: ignore[method-assign, assignment]
    wrap("on_train_begin", watch.train_begins, watch.train_begun)
    wrap("on_train_end", None, watch.between)
    wrap("on_epoch_begin", watch.epoch_begins, watch.first_batch_awaited)
    wrap("on_epoch_end", watch.between, watch.between)
    train_batches.hook(session, kind)
    wrap("on_test_begin", watch.test_begins, watch.testing)
    wrap("on_test_batch_begin", None, watch.testing_quietly)
    wrap("on_test_batch_end", watch.test_batch_ends, watch.testing_quietly)
    wrap("on_test_end", None, watch.test_ends)
    wrap("on_predict_begin", watch.predict_begins, None)
    wrap("on_predict_batch_begin", None, None)
    wrap("on_predict_batch_end", watch.predict_batch_ends, None)
    wrap("on_predict_end", None, None)
    if not _wrap_logs(session, kind, "_on_train_batch_end", watch):
        _wrap_logs(session, kind, "on_train_batch_end", watch)


class CallbackListObserver:
    """What is done at each of the list's methods."""

    def __init__(self, session: ProbeContext) -> None:
        self.session = session
        self.progress = session.progress
        self.fits = fit_log.of(session)
        self.losses = loss_watch.of(session)

    # -- which callback ---------------------------------------------------------------------------

    def callbacks_begin(self, hook: str) -> None:
        self.session.guard(PART, self._logs_are_numbers, hook)

    def batch_callbacks_begin(self) -> None:
        """Before one of them stops because of the loss. On the CPU it was had at its step, unless that was counted."""
        if not self.losses.on_cpu or (self.progress.quick and self.losses.turned(here.logs)):
            self.session.guard("losses", _losses_had, self.session, self, self.progress.train_batches - 1)

    def _logs_are_numbers(self, hook: str) -> None:
        """Keras has just made Python numbers of the logs: they are had here without asking the device."""
        fit, logs = self.fits.current, here.logs
        if hook == "on_epoch_end" and fit is not None:
            self.fits.epoch_ends(fit, here.argument, fit_log.numbers(logs))
            self.losses.epoch_done(self.progress.step, self.progress.epoch, fit_log.numbers(logs))
            self.session.guard("losses", self.losses.epoch_over, fit.model)
        elif hook == "on_test_end":
            clock: Stopwatch | None = self.session.seen.pop("validation_clock", None)
            self.fits.validation_ends(fit, fit_log.numbers(logs), clock.seconds if clock else 0.0)

    def callback_begins(self, index: int) -> None:
        try:
            progress = self.progress
            if get_ident() == progress.thread:
                progress.shift(Phase.CALLBACK, index + 1, monotonic_ns())
        except Exception as error:
            self.session.failed(PART, error)

    # -- training ---------------------------------------------------------------------------------

    def train_begins(self, callbacks: Any, *_: Any) -> None:
        fit = self.fits.current
        if fit is None:  # a CallbackList in a loop of the user's own
            fit = self.fits.begin(getattr(callbacks, "_model", None), {}, user_lines.caller_line())
            fit.data_wait = "none"
        fit.callbacks = callbacks
        steps = (getattr(callbacks, "params", None) or {}).get("steps")
        fit.planned_steps = steps if isinstance(steps, int) else fit.planned_steps
        self.fits.say_started(fit, [describe(callback) for callback in list.__iter__(callbacks.callbacks)])

    def train_begun(self, callbacks: Any, *_: Any) -> None:
        fit = self.fits.current
        if fit is not None:
            self.session.guard("saving", model_saving.backup_restored, self.session, fit.model)
        self.between(callbacks)

    def epoch_begins(self, callbacks: Any, epoch: Any = 0, *_: Any) -> None:
        fit = self.fits.current
        if isinstance(callbacks.callbacks, ObservedCallbacks):
            callbacks.callbacks.plan_batches()
        if fit is not None:
            self.fits.epoch_begins(fit, int(epoch))
            stop_training.watch_logs(self.session)

    def first_batch_awaited(self, callbacks: Any, *_: Any) -> None:
        if self.progress.here:
            self.progress.enter(Phase.FILL)

    def between(self, callbacks: Any, *_: Any) -> None:
        if self.progress.here:
            self.progress.enter(Phase.BETWEEN)

    # -- validation and prediction -----------------------------------------------------------------

    def test_begins(self, callbacks: Any, *_: Any) -> None:
        self.session.seen["validation_clock"] = Stopwatch()
        fit: FitState | None = self.fits.current
        self.fits.validation_begins(fit, self.session.seen.get("validation_planned"))
        if self.progress.here:
            self.progress.enter(Phase.VALIDATION)

    def testing(self, callbacks: Any, *_: Any) -> None:
        if self.progress.here:
            self.progress.enter(Phase.VALIDATION)

    def testing_quietly(self, callbacks: Any, *_: Any) -> None:
        if self.progress.phase is Phase.CALLBACK and self.progress.here:
            self.progress.enter(Phase.VALIDATION)

    def test_batch_ends(self, callbacks: Any, batch: Any = 0, *_: Any) -> None:
        if self.progress.here:
            self.progress.test_batches = int(batch) + 1
            self.progress.enter(Phase.VALIDATION)

    def test_ends(self, callbacks: Any, *_: Any) -> None:
        if self.progress.here:
            self.progress.enter(Phase.BETWEEN if self.fits.current else Phase.AFTER)

    def predict_begins(self, callbacks: Any, *_: Any) -> None:
        self.session.seen["predict_batches"] = 0

    def predict_batch_ends(self, callbacks: Any, batch: Any = 0, *_: Any) -> None:
        self.session.seen["predict_batches"] = int(batch) + 1
        if self.progress.here:
            self.progress.enter(Phase.PREDICT)


def _made_to_fail(*_: Any) -> None:
    raise RuntimeError("made to fail by a test")


def _wrap(
    session: ProbeContext,
    kind: type,
    name: str,
    before: Callable[..., Any] | None,
    after: Callable[..., Any] | None,
) -> None:
    original = vars(kind).get(name)
    if original is None or hasattr(original, "_holdfast_original"):
        return

    @functools.wraps(original)
    def told(self: Any, *args: Any, **kwargs: Any) -> Any:
        if not session.on(PART):
            return original(self, *args, **kwargs)
        here.argument = args[0] if args else kwargs.get("epoch", kwargs.get("batch"))
        here.logs = args[-1] if args and isinstance(args[-1], dict) else kwargs.get("logs")
        if before is not None:
            session.guard(PART, before, self, here.argument)
        result = active_callback.named(session, name, original, self, *args, **kwargs)
        if after is not None:
            session.guard(PART, after, self)
        return result

    told._holdfast_original = original  # type: ignore[attr-defined]
    setattr(kind, name, told)


def _wrap_logs(session: ProbeContext, kind: type, name: str, watch: CallbackListObserver) -> bool:
    """The inner method that Keras runs in a thread of its own when no callback needs it between steps."""
    original = vars(kind).get(name)
    if original is None:
        return False

    @functools.wraps(original)
    def told(self: Any, batch: Any, logs: Any = None, **kwargs: Any) -> Any:
        if here.callbacks is self.callbacks:  # between steps, where the list tells it first
            return original(self, batch, logs, **kwargs)
        here.logs = logs
        try:
            return original(self, batch, logs, **kwargs)
        except BaseException as error:
            session.guard(PART, active_callback.raised, session, error)
            raise
        finally:
            if not watch.losses.on_cpu or watch.losses.turned(here.logs):
                session.guard("losses", _losses_had, session, watch, batch)

    setattr(kind, name, told)
    return True


def _losses_had(session: ProbeContext, watch: CallbackListObserver, batch: Any) -> None:
    fit, logs, known = watch.fits.current, here.logs, watch.losses
    if fit is not None and isinstance(logs, dict):
        batches = int(batch) + 1
        step, epoch, numbers = fit.epoch_base + batches, session.progress.epoch, known.numbers(logs)
        known.logs_had(step, epoch, batches, numbers, fit.model)


def _keep_python_logs(session: ProbeContext, python_utils: Any) -> None:
    original = getattr(python_utils, "pythonify_logs", None)
    if original is None:
        return

    @functools.wraps(original)
    def kept(logs: Any) -> Any:
        result = original(logs)
        here.logs = result
        return result

    python_utils.pythonify_logs = kept


def _after_init(session: ProbeContext, kind: type, watch: CallbackListObserver) -> None:
    original = kind.__init__  # type: ignore[misc]

    @functools.wraps(original)
    def told(self: Any, *args: Any, **kwargs: Any) -> None:
        original(self, *args, **kwargs)
        if session.on(PART) and type(self.callbacks) is list:
            self.callbacks = ObservedCallbacks(self.callbacks, watch)

    kind.__init__ = told  # type: ignore[misc]


def keep_logs(logs: Any) -> None:
    """Numbers that Keras has just made of tensors; see `ListWatch.callbacks_begin`."""
    if isinstance(logs, dict):
        here.logs = logs


def describe(callback: Any) -> dict[str, Any]:
    kind = type(callback)
    place = user_lines.of_class(kind)
    file, _, line = place.rpartition(":")
    return {
        "class": kind.__name__,
        "module": kind.__module__,
        "file": file or place,
        "line": int(line) if line.isdigit() else None,
        "settings": settings_of(callback),
    }


def settings_of(callback: Any) -> dict[str, Any]:
    values = vars(callback) if hasattr(callback, "__dict__") else {}
    found: dict[str, Any] = {}
    for name in _SETTINGS:
        value = values.get(name, values.get("_" + name))
        if isinstance(value, str | int | float | bool):
            found[name.lstrip("_")] = value
        elif value is not None and hasattr(value, "__fspath__"):
            found[name.lstrip("_")] = str(value)
    return found
