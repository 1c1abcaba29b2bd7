"""Wraps Keras's list of callbacks: phases, counts, and which callback is running.

The list is wrapped and nothing is added to it: a callback more, with a method for batches, would switch
Keras from calling callbacks in a thread of their own to calling them between the steps.
"""

from __future__ import annotations

import functools
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

from ..journal.beats import Phase
from . import failures, fits, footprint, frameworks, lines, losses, models, saving, stopping
from .fits import Fit
from .progress import Stopwatch
from .session import Session

PART = "callbacks"

_SETTINGS = (
    "monitor", "patience", "min_delta", "mode", "baseline", "start_from_epoch", "restore_best_weights", "factor",
    "min_lr", "cooldown", "filepath", "_current_filepath", "save_freq", "save_best_only", "save_weights_only",
    "backup_dir", "delete_checkpoint", "double_checkpoint", "log_dir", "filename", "update_freq", "histogram_freq",
    "verbose", "best", "wait", "stopped_epoch", "best_epoch", "cooldown_counter",
)  # fmt: skip

_WITH_LOGS = ("on_epoch_end", "on_test_end")

_local = threading.local()


def hook_keras3(session: Session, module: Any) -> None:
    _keep_python_logs(session, getattr(module, "python_utils", None))
    hook_list(session, module.CallbackList)


def hook_list(session: Session, kind: type) -> None:
    watch = ListWatch(session)
    _after_init(session, kind, watch)
    wrap = functools.partial(_wrap, session, kind)
    if session.made_to_fail(PART + "-later"):
        watch.epoch_begins = _made_to_fail  # type: ignore[method-assign, assignment]
    wrap("on_train_begin", watch.train_begins, watch.train_begun)
    wrap("on_train_end", None, watch.between)
    wrap("on_epoch_begin", watch.epoch_begins, watch.first_batch_awaited)
    wrap("on_epoch_end", None, watch.between)
    wrap("on_train_batch_begin", None, watch.step_begins)
    wrap("on_train_batch_end", watch.step_ends, watch.between_batches)
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


class WatchedCallbacks(list[Any]):
    """The callbacks; going through them tells which one is running."""

    def __init__(self, callbacks: list[Any], watch: ListWatch) -> None:
        super().__init__(callbacks)
        self._watch = watch
        self._plans: dict[str, tuple[int, set[int]]] = {}  # by hook: how many there were, and which have it

    def __iter__(self) -> Iterator[Any]:
        hook = getattr(_local, "hook", None)
        if hook is None:
            return super().__iter__()
        plan = self._plans.get(hook)
        if plan is None or plan[0] != len(self):
            having = {index for index, one in enumerate(super().__iter__()) if overrides(type(one), hook)}
            plan = self._plans[hook] = len(self), having
        return self._told(hook, plan[1]) if plan[1] or hook in _WITH_LOGS else super().__iter__()

    def _told(self, hook: str, having: set[int]) -> Iterator[Any]:
        watch = self._watch
        if hook in _WITH_LOGS:
            watch.session.guard(PART, watch.callbacks_begin, hook)
        for index, callback in enumerate(list.__iter__(self)):
            _local.callback = callback
            if index in having:
                watch.callback_begins(index)
            yield callback
        _local.callback = None


class ListWatch:
    """What is done at each of the list's methods."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.progress = session.progress
        self.fits = fits.of(session)
        self.losses = losses.of(session)
        self._compiled: set[int] = set()

    # -- which callback ---------------------------------------------------------------------------

    def callbacks_begin(self, hook: str) -> None:
        """Keras has just made Python numbers of the logs: they are had here without asking the device."""
        fit = self.fits.current
        logs = getattr(_local, "logs", None)
        if hook == "on_epoch_end" and fit is not None:
            self.fits.epoch_ends(fit, _local.argument, fits.numbers(logs))
            self.losses.epoch_done(self.progress.step, self.progress.epoch, fits.numbers(logs))
            self.session.guard("losses", self.losses.epoch_over, fit.model)
        elif hook == "on_test_end":
            clock: Stopwatch | None = self.session.seen.pop("validation_clock", None)
            self.fits.validation_ends(fit, fits.numbers(logs), clock.seconds if clock else 0.0)

    def callback_begins(self, index: int) -> None:
        try:
            if self.progress.here:
                self.progress.enter(Phase.CALLBACK, index + 1)
                _local.entered = True
        except Exception as error:
            self.session.failed(PART, error)

    # -- training ---------------------------------------------------------------------------------

    def train_begins(self, callbacks: Any) -> None:
        fit = self.fits.current
        if fit is None:  # a CallbackList in a loop of the user's own
            fit = self.fits.begin(getattr(callbacks, "_model", None), {}, lines.caller_line())
            fit.data_wait = "none"
        fit.callbacks = callbacks
        steps = (getattr(callbacks, "params", None) or {}).get("steps")
        fit.planned_steps = steps if isinstance(steps, int) else fit.planned_steps
        self.fits.say_started(fit, [describe(callback) for callback in list.__iter__(callbacks.callbacks)])

    def train_begun(self, callbacks: Any, *_: Any) -> None:
        fit = self.fits.current
        if fit is not None:
            self.session.guard("saving", saving.backup_restored, self.session, fit.model)
        self.between(callbacks)

    def epoch_begins(self, callbacks: Any, epoch: Any = 0) -> None:
        fit = self.fits.current
        if fit is not None:
            self.fits.epoch_begins(fit, int(epoch))
            stopping.watch_logs(self.session)

    def first_batch_awaited(self, callbacks: Any, *_: Any) -> None:
        if self.progress.here:
            self.progress.enter(Phase.FILL)

    def step_begins(self, callbacks: Any, *_: Any) -> None:
        progress = self.progress
        if not progress.here:
            return
        _local.entered = False
        fit, phase = self.fits.current, Phase.STEP
        if fit is not None:
            fit.step_began_ns = time.perf_counter_ns()
            if fit.first_step_s is None:  # the first of an epoch: it compiles, or fills buffers
                phase = Phase.FILL if self._is_compiled(fit) else Phase.COMPILE
        progress.enter(phase)

    def _is_compiled(self, fit: Fit) -> bool:
        """Whether the step of this model has run before; a second fit need not compile again."""
        return id(getattr(fit.model, "train_function", None)) in self._compiled

    def step_ends(self, callbacks: Any, batch: Any = 0, logs: Any = None) -> None:
        progress = self.progress
        fit = self.fits.current
        if fit is None or not progress.here:
            return
        done = int(batch) + 1
        progress.step += max(1, done - progress.train_batches)
        progress.train_batches = max(done, progress.train_batches + 1)
        self._time_step(fit)
        self.losses.step_done(fit.model, logs)
        progress.enter(Phase.BETWEEN)

    def _time_step(self, fit: Fit) -> None:
        progress, now = self.progress, time.perf_counter_ns()
        started = fit.step_began_ns or now
        if fit.first_step_s is None:
            fit.first_step_s = round(fit.epoch_clock.seconds, 4)
            self._compiled.add(id(getattr(fit.model, "train_function", None)))
            progress.step_ns = now - started
            self.session.guard("models", models.seen, self.session, fit.model)
            self.session.guard("frameworks", frameworks.devices_seen, self.session)
            self.session.guard(footprint.PART, footprint.mind, self.session, fit.model)
        else:
            progress.step_ns = now - fit.step_ended_ns
            progress.compute_ns += now - started
        fit.step_ended_ns = now

    def between_batches(self, callbacks: Any, *_: Any) -> None:
        if getattr(_local, "entered", False):
            _local.entered = False
            self.progress.enter(Phase.BETWEEN)

    def between(self, callbacks: Any, *_: Any) -> None:
        if self.progress.here:
            self.progress.enter(Phase.BETWEEN)

    # -- validation and prediction -----------------------------------------------------------------

    def test_begins(self, callbacks: Any, *_: Any) -> None:
        self.session.seen["validation_clock"] = Stopwatch()
        fit: Fit | None = self.fits.current
        self.fits.validation_begins(fit, self.session.seen.get("validation_planned"))
        if self.progress.here:
            self.progress.enter(Phase.VALIDATION)

    def testing(self, callbacks: Any, *_: Any) -> None:
        if self.progress.here:
            self.progress.enter(Phase.VALIDATION)

    def testing_quietly(self, callbacks: Any, *_: Any) -> None:
        if getattr(_local, "entered", False):
            _local.entered = False
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


def overrides(kind: type, hook: str) -> bool:
    """Whether callbacks of this kind do anything there."""
    names = {hook, hook.replace("train_batch", "batch")} if "train_batch" in hook else {hook}
    owners = [base for base in kind.__mro__ if names & vars(base).keys()]
    return bool(owners) and owners[0].__name__ != "Callback"


def _made_to_fail(*_: Any) -> None:
    raise RuntimeError("made to fail by a test")


def _wrap(
    session: Session,
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
        outer = getattr(_local, "hook", None)
        _local.hook = name
        _local.argument = args[0] if args else None
        _local.logs = args[-1] if args and isinstance(args[-1], dict) else kwargs.get("logs")
        try:  # as `session.guard` does, without its cost: this runs twice a step
            if before is not None:
                before(self, *args)
        except Exception as error:
            session.failed(PART, error)
        try:
            result = original(self, *args, **kwargs)
        except BaseException as error:
            session.guard(PART, _callback_raised, session, error)
            raise
        finally:
            _local.hook = outer
        try:
            if after is not None:
                after(self)
        except Exception as error:
            session.failed(PART, error)
        return result

    told._holdfast_original = original  # type: ignore[attr-defined]
    setattr(kind, name, told)


def _wrap_logs(session: Session, kind: type, name: str, watch: ListWatch) -> bool:
    """The inner method that Keras runs in a thread of its own when no callback needs it between steps."""
    original = vars(kind).get(name)
    if original is None:
        return False

    @functools.wraps(original)
    def told(self: Any, batch: Any, logs: Any = None, **kwargs: Any) -> Any:
        if not session.on("losses"):
            return original(self, batch, logs, **kwargs)
        outer = getattr(_local, "hook", None)
        _local.hook = "on_train_batch_end"
        try:
            return original(self, batch, logs, **kwargs)
        except BaseException as error:
            session.guard(PART, _callback_raised, session, error)
            raise
        finally:
            _local.hook = outer
            try:
                _losses_had(session, watch, batch)
            except Exception as error:
                session.failed("losses", error)

    setattr(kind, name, told)
    return True


def _losses_had(session: Session, watch: ListWatch, batch: Any) -> None:
    fit = watch.fits.current
    if fit is not None:
        step = fit.epoch_base + int(batch) + 1
        logs = watch.losses.numbers(getattr(_local, "logs", None))
        watch.losses.logs_had(step, session.progress.epoch, logs, fit.model)


def _keep_python_logs(session: Session, python_utils: Any) -> None:
    original = getattr(python_utils, "pythonify_logs", None)
    if original is None:
        return

    @functools.wraps(original)
    def kept(logs: Any) -> Any:
        result = original(logs)
        _local.logs = result
        return result

    python_utils.pythonify_logs = kept


def _after_init(session: Session, kind: type, watch: ListWatch) -> None:
    original = kind.__init__  # type: ignore[misc]

    @functools.wraps(original)
    def told(self: Any, *args: Any, **kwargs: Any) -> None:
        original(self, *args, **kwargs)
        if session.on(PART) and type(self.callbacks) is list:
            self.callbacks = WatchedCallbacks(self.callbacks, watch)

    kind.__init__ = told  # type: ignore[misc]


def _callback_raised(session: Session, error: BaseException) -> None:
    callback = getattr(_local, "callback", None)
    if callback is not None:
        _local.callback = None
        failures.left_call(session, error, "callback", callback=type(callback).__name__)


def keep_logs(logs: Any) -> None:
    """Numbers that Keras has just made of tensors; see `ListWatch.callbacks_begin`."""
    if isinstance(logs, dict):
        _local.logs = logs


def running() -> Any:
    """The callback that this thread is in, if any."""
    return getattr(_local, "callback", None) if getattr(_local, "hook", None) else None


def describe(callback: Any) -> dict[str, Any]:
    kind = type(callback)
    place = lines.of_class(kind)
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
