"""Wraps `fit`, `evaluate`, `predict` and the data behind them, for Keras 3 on any backend."""

from __future__ import annotations

import inspect
import time
from typing import Any

from ...journal.beats import Phase
from ...journal.events import PredictDone
from ..inputs import bad_files, batch_statistics, datasets
from ..loops import custom_loop
from ..memory_use import retained_objects
from ..process import exceptions
from ..runtime import user_lines
from ..runtime.context import ProbeContext
from ..runtime.heartbeat import Stopwatch
from ..runtime.wrapping import observe
from ..state import fit_log, model_facts
from . import loss_watch, stop_training

PART = "fit"


def hook_trainer(session: ProbeContext, module: Any) -> None:
    """The trainer of one backend."""
    for kind in [value for value in vars(module).values() if isinstance(value, type)]:
        if kind.__module__ == module.__name__ and "fit" in vars(kind):
            watch_trainer(session, kind)
            custom_loop.watch_train_on_batch(session, kind)


def hook_base_trainer(session: ProbeContext, module: Any) -> None:
    stop_training.install(session, module.Trainer)
    model_facts.watch_compile(session, module.Trainer)
    model_facts.watch_births(session, module.Trainer)


def watch_trainer(session: ProbeContext, kind: Any) -> None:
    watch = FitObserver(session)
    signature = inspect.signature(kind.fit)
    observe(
        session, kind, "fit", PART,
        before=lambda args, kwargs: watch.fit_begins(signature, args, kwargs),
        after=lambda fit, _: watch.fit_ends(fit, None),
        failed=watch.fit_ends,
    )  # fmt: skip
    observe(
        session,
        kind,
        "evaluate",
        PART,
        before=watch.evaluate_begins,
        after=watch.resume,
        failed=watch.call_failed,
    )
    observe(
        session,
        kind,
        "predict",
        PART,
        before=watch.predict_begins,
        after=watch.predict_ends,
        failed=watch.call_failed,
    )


class FitObserver:
    def __init__(self, session: ProbeContext) -> None:
        self._session = session
        self._fits = fit_log.of(session)
        self._loop = custom_loop.of(session)
        self._predicts = 0

    def fit_begins(self, signature: inspect.Signature, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        try:
            bound = signature.bind(*args, **kwargs)
            bound.apply_defaults()
            given = dict(bound.arguments)
        except TypeError:  # the call itself is wrong; Keras will say so
            given = dict(kwargs)
        kept = {name: given.get(name) for name in _KEPT if _plain(given.get(name))}
        kept["validation_data"] = True if given.get("validation_data") is not None else None
        previous = self._session.progress.phase, self._session.progress.detail
        fit = self._fits.begin(args[0] if args else None, kept, user_lines.caller_line())
        fit.weights_before = model_facts.fingerprint(fit.model)
        loss_watch.of(self._session).fit_begins(fit.model)
        self._session.guard(retained_objects.PART, retained_objects.start, self._session)
        return fit, previous, set(self._session.seen.get("datasets_said", ()))

    def fit_ends(self, token: Any, error: BaseException | None) -> None:
        if token is None:
            return
        fit, previous, _ = token
        session = self._session
        if not fit.said:
            self._fits.say_started(fit, [])
        if error is not None:
            exceptions.left_call(session, error, "fit")
        if error is None:
            session.guard("losses", loss_watch.of(session).fit_ends, fit.model)
        self._fits.end(fit, error)
        if self._fits.current is not None:
            session.progress.enter(*previous)
        else:
            session.progress.enter(Phase.AFTER)
        if error is not None:
            session.guard("badfiles", bad_files.look, session, error, str(error))

    def evaluate_begins(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        progress = self._session.progress
        previous = progress.phase, progress.detail
        self._call_begins()
        if progress.here or self._fits.current is None:
            progress.enter(Phase.VALIDATION)
        return previous

    def predict_begins(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        progress = self._session.progress
        previous = progress.phase, progress.detail
        self._call_begins()
        if progress.here or self._fits.current is None:
            progress.enter(Phase.PREDICT)
        return previous, Stopwatch()

    def _call_begins(self) -> None:
        self._loop.call_begins()
        if self._fits.current is None:
            self._session.keep_ring()

    def resume(self, previous: Any, _: Any) -> None:
        self._loop.call_ends()
        progress = self._session.progress
        if previous is not None and (progress.here or self._fits.current is None):
            progress.enter(*previous)

    def predict_ends(self, token: Any, _: Any) -> None:
        if token is None:
            return
        previous, clock = token
        self._predicts += 1
        last = self._session.seen.get("predict_said", 0.0)
        now = time.monotonic()
        if self._predicts <= 20 or now - last > 10.0:  # a predict for each image would flood the journal
            self._session.seen["predict_said"] = now
            self._session.say(
                PredictDone(
                    batches=self._session.seen.get("predict_batches", 0),
                    duration_s=round(clock.seconds, 4),
                    count=self._predicts,
                )
            )
        self.resume(previous, None)

    def call_failed(self, token: Any, error: BaseException) -> None:
        if self._fits.current is None:
            exceptions.left_call(self._session, error, "evaluate")
        previous = token[0] if isinstance(token, tuple) and token and isinstance(token[0], tuple) else token
        self.resume(previous, None)


def hook_epoch_iterator(session: ProbeContext, module: Any) -> None:
    kind = module.EpochIterator
    observe(
        session, kind, "__init__", "datasets",
        before=lambda args, kwargs: (args[0], kwargs),
        after=lambda token, _: _iterator_made(session, *token) if token else None,
    )  # fmt: skip
    observe(
        session, kind, "__next__", "data_wait",
        before=lambda args, kwargs: _wait_begins(session),
        after=lambda clock, result: _wait_ends(session, clock, result),
    )  # fmt: skip


def _iterator_made(session: ProbeContext, iterator: Any, arguments: dict[str, Any]) -> None:
    """On TensorFlow the batch is fetched inside the compiled step; on the others by `__next__`, where it is seen."""
    fit = fit_log.of(session).current
    if fit is not None and type(iterator).__name__ != "TFEpochIterator":
        fit.data_wait = "exact"
    datasets.iterator_made(session, iterator, arguments)


def _wait_begins(session: ProbeContext) -> Stopwatch | None:
    progress = session.progress
    fit = fit_log.of(session).current
    if not progress.here or fit is None or progress.phase in (Phase.VALIDATION, Phase.PREDICT):
        return None
    progress.enter(Phase.FILL if fit.first_step_s is None else Phase.DATA_WAIT)
    return Stopwatch()


def _wait_ends(session: ProbeContext, clock: Stopwatch | None, result: Any) -> None:
    if clock is not None:
        if isinstance(result, tuple) and len(result) == 3:  # begin, end, the batches of one execution
            session.guard(
                batch_statistics.PART, batch_statistics.drawn, session, result[2], session.progress.step + 1
            )
        fit = fit_log.of(session).current
        if fit is not None and fit.first_step_s is not None:
            session.progress.data_wait_ns += clock.ns


_KEPT = (
    "batch_size", "epochs", "validation_split", "shuffle", "initial_epoch", "steps_per_epoch", "validation_steps",
    "validation_batch_size", "validation_freq", "verbose",
)  # fmt: skip


def _plain(value: Any) -> bool:
    return isinstance(value, str | int | float | bool) or (
        isinstance(value, list | tuple) and all(isinstance(item, int) for item in value)
    )
