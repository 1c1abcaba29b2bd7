"""Wraps `fit`, `evaluate` and `predict` of Keras 3 on any backend and of Keras 2, and the wait for their batches."""

from __future__ import annotations

import inspect
import time
from typing import Any

from ...journal.beats import Phase
from ...journal.events import PredictDone
from ..runtime import user_lines
from ..runtime.context import ProbeContext
from ..runtime.heartbeat import Stopwatch
from ..runtime.hook import Hook
from ..runtime.wrapping import observe, observe_iterator
from ..state import loss_watch, model_facts
from ..state.fit_log import FitState
from . import stop_training

PART = "trainer_hooks"
_KEPT = (
    "batch_size", "epochs", "validation_split", "shuffle", "initial_epoch", "steps_per_epoch", "validation_steps",
    "validation_batch_size", "validation_freq", "verbose",
)  # fmt: skip
_PREDICTIONS_FIRST = 20  # calls that are all recorded; a predict for each image would flood the journal
_PREDICTIONS_EVERY_S = 10.0


def hook_trainer(context: ProbeContext, module: Any) -> None:
    """The trainer of one backend."""
    for kind in [value for value in vars(module).values() if isinstance(value, type)]:
        if kind.__module__ == module.__name__ and "fit" in vars(kind):
            watch_trainer(context, kind)


def hook_base_trainer(context: ProbeContext, module: Any) -> None:
    stop_training.install(context, module.Trainer)
    model_facts.watch_compile(context, module.Trainer)
    model_facts.watch_creation(context, module.Trainer)


def hook_keras2(context: ProbeContext, module: Any) -> None:
    """`engine.training`: the Model class has the trainer's methods itself."""
    watch_trainer(context, module.Model)
    model_facts.watch_compile(context, module.Model)
    stop_training.install(context, module.Model)


def watch_trainer(context: ProbeContext, kind: Any) -> None:
    observer = FitObserver(context)
    signature = inspect.signature(kind.fit)
    observe(
        context, kind, "fit", PART,
        before=lambda args, kwargs: observer.fit_begins(signature, args, kwargs),
        after=lambda token, _: observer.fit_ends(token, None),
        failed=observer.fit_ends,
    )  # fmt: skip
    observe(
        context, kind, "evaluate", PART,
        before=observer.evaluate_begins, after=observer.resume, failed=observer.call_failed,
    )  # fmt: skip
    observe(
        context, kind, "predict", PART,
        before=observer.predict_begins, after=observer.predict_ends, failed=observer.call_failed,
    )  # fmt: skip


class FitObserver:
    def __init__(self, context: ProbeContext) -> None:
        self._context = context
        self._fits = context.fits

    def fit_begins(self, signature: inspect.Signature, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        try:
            bound = signature.bind(*args, **kwargs)
            bound.apply_defaults()
            given = dict(bound.arguments)
        except TypeError:  # the call itself is wrong, and Keras will raise
            given = dict(kwargs)
        kept = {name: given.get(name) for name in _KEPT if _plain(given.get(name))}
        kept["validation_data"] = True if given.get("validation_data") is not None else None
        previous = self._context.heartbeat.phase, self._context.heartbeat.detail
        fit = self._fits.begin(args[0] if args else None, kept, user_lines.caller_line())
        fit.weights_before = model_facts.fingerprint(fit.model)
        fit.given = given.get("x"), given.get("y"), float(kept.get("validation_split") or 0.0)
        self._context.motion.fit_begins(fit)
        self._context.losses.fit_begins(fit.model)
        self._context.learning.fit_begins(fit, given)
        self._context.memory.training_began()
        self._context.same_point.training_began()
        return fit, previous

    def fit_ends(self, token: Any, error: BaseException | None) -> None:
        if token is None:
            return
        fit: FitState = token[0]
        previous = token[1]
        context = self._context
        if not fit.recorded:
            self._fits.record_started(fit, [])
        if error is not None:
            context.exceptions.left_call(error, "fit")
        else:
            context.guard(loss_watch.PART, context.losses.fit_ends, fit.model)
        self._look_at_weights(fit, error)
        context.learning.fit_ends(fit)
        fit.given = None
        self._fits.end(fit, error)
        if self._fits.current is not None:
            context.heartbeat.set_phase(*previous)
        else:
            context.heartbeat.set_phase(Phase.AFTER)
        if error is not None:
            context.inputs.search_bad_files(error)

    def _look_at_weights(self, fit: FitState, error: BaseException | None) -> None:
        if error is None:
            steps = self._context.heartbeat.step - fit.base_step
            self._context.motion.fit_ends(fit, steps)
            self._context.deep_look.fit_ends(fit, steps)

    def evaluate_begins(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        heartbeat = self._context.heartbeat
        previous = heartbeat.phase, heartbeat.detail
        self._call_begins()
        if heartbeat.is_training_thread or self._fits.current is None:
            heartbeat.set_phase(Phase.VALIDATION)
        return previous

    def predict_begins(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        heartbeat = self._context.heartbeat
        previous = heartbeat.phase, heartbeat.detail
        self._call_begins()
        if heartbeat.is_training_thread or self._fits.current is None:
            heartbeat.set_phase(Phase.PREDICT)
        return previous, Stopwatch()

    def _call_begins(self) -> None:
        self._fits.calls_open += 1
        if self._fits.current is None:
            self._context.keep_heartbeat()

    def resume(self, previous: Any, _: Any) -> None:
        self._fits.calls_open = max(0, self._fits.calls_open - 1)
        heartbeat = self._context.heartbeat
        if previous is not None and (heartbeat.is_training_thread or self._fits.current is None):
            heartbeat.set_phase(*previous)

    def predict_ends(self, token: Any, _: Any) -> None:
        if token is None:
            return
        previous, clock = token
        predictions = self._fits.predictions
        predictions.calls += 1
        now = time.monotonic()
        late = now - predictions.recorded_at > _PREDICTIONS_EVERY_S
        if predictions.calls <= _PREDICTIONS_FIRST or late:
            predictions.recorded_at = now
            self._context.record(
                PredictDone(
                    batches=predictions.batches,
                    duration_s=round(clock.seconds, 4),
                    count=predictions.calls,
                )
            )
        self.resume(previous, None)

    def call_failed(self, token: Any, error: BaseException) -> None:
        if self._fits.current is None:
            self._context.exceptions.left_call(error, "evaluate")
        previous = token[0] if isinstance(token, tuple) and token and isinstance(token[0], tuple) else token
        self.resume(previous, None)


def hook_epoch_iterator(context: ProbeContext, module: Any) -> None:
    """`__next__` fetches a batch, but on TensorFlow, where the compiled step does."""
    observe_iterator(
        context, module.EpochIterator, PART,
        before=lambda iterator: _wait_begins(context),
        after=lambda clock, result: _wait_ends(context, clock, result),
    )  # fmt: skip


def _wait_begins(context: ProbeContext) -> Stopwatch | None:
    heartbeat = context.heartbeat
    fit = context.fits.current
    if (
        not heartbeat.is_training_thread
        or fit is None
        or heartbeat.phase in (Phase.VALIDATION, Phase.PREDICT)
    ):
        return None
    heartbeat.set_phase(Phase.FILL if fit.first_step_s is None else Phase.DATA_WAIT)
    return Stopwatch()


def _wait_ends(context: ProbeContext, clock: Stopwatch | None, result: Any) -> None:
    if clock is not None:
        if isinstance(result, tuple) and len(result) == 3:  # begin, end, the batches of one execution
            context.inputs.batch_fetched(result[2], context.heartbeat.step + 1)
        fit = context.fits.current
        if fit is not None and fit.first_step_s is not None:
            context.heartbeat.data_wait_ns += clock.ns


def _plain(value: Any) -> bool:
    return isinstance(value, (str, int, float, bool)) or (
        isinstance(value, (list, tuple)) and all(isinstance(item, int) for item in value)
    )


KERAS_HOOKS = (
    Hook(PART, "keras.src.trainers.trainer", hook_base_trainer),
    Hook(PART, "keras.src.backend.tensorflow.trainer", hook_trainer),
    Hook(PART, "keras.src.backend.jax.trainer", hook_trainer),
    Hook(PART, "keras.src.backend.torch.trainer", hook_trainer),
    Hook(PART, "keras.src.trainers.epoch_iterator", hook_epoch_iterator),
)
KERAS2_HOOKS = (Hook(PART, "engine.training", hook_keras2),)
