"""The fits of a process: what was requested of each, what it has done so far, and the events that record it."""

from __future__ import annotations

import os
import threading
from dataclasses import dataclass, field
from typing import Any

from ...journal.beats import Phase
from ...journal.events import (
    EpochDone,
    EpochStarted,
    Event,
    FitDone,
    FitStarted,
    ValidationDone,
    ValidationStarted,
)
from ..runtime.context import ProbeContext
from ..runtime.heartbeat import Stopwatch
from . import finiteness, model_facts
from .fit_sampling import FitSampling

_KEPT_EPOCHS = 200  # of the counts at either end


@dataclass
class FitState:
    number: int
    model: Any
    arguments: dict[str, Any]
    where: str = ""
    data_wait: str = "none"  # exact | sampled | none: how waiting for data is known apart from computing
    callbacks: Any = None  # the CallbackList, once there is one
    recorded: bool = False  # its start
    train_data_seen: bool = False
    planned_steps: int | None = None
    base_step: int = 0  # of the process, when the fit began
    epoch_base: int = 0
    epochs_begun: int = 0
    epochs_done: int = 0
    epoch_open: bool = False
    steps_by_epoch: list[int] = field(default_factory=list)
    clock: Stopwatch = field(default_factory=Stopwatch)
    epoch_clock: Stopwatch = field(default_factory=Stopwatch)
    first_step_s: float | None = None
    step_began_ns: int = 0
    step_ended_ns: int = 0
    validation_clock: Stopwatch | None = None
    weights_before: float | None = None
    motion: Any = None  # what `learning.weight_motion` keeps of its weights
    given: tuple[Any, Any, float] | None = (
        None  # x, y and the share for validation, while the call is under way
    )
    losses: list[dict[str, float]] = field(default_factory=list)  # logs of epochs, at either end
    stopped: bool = False
    outer_phase: tuple[int, int] = (0, 0)  # epoch and batches of it where the fit around this one is
    began_at: float = 0.0
    deferred: list[bool] = field(default_factory=list)  # not empty: nothing of it is recorded yet
    started: FitStarted | None = None
    withheld: list[Event] = field(default_factory=list)


@dataclass
class PredictCalls:
    """Calls of `predict`."""

    calls: int = 0
    batches: int = 0  # of the newest
    recorded_at: float = 0.0


class ActiveFits:
    """The fits that are under way, innermost last, and those before only as a number."""

    def __init__(self, context: ProbeContext) -> None:
        self._context = context
        self._open: list[FitState] = []
        self.current: FitState | None = None
        self._count = 0
        self.calls_open = 0  # of evaluate, predict and train_on_batch: what they do is no loop of the user's
        self.validation_clock: Stopwatch | None = None
        self.predictions = PredictCalls()
        self.sampling = FitSampling(context)

    def flush(self) -> None:
        """The run ends while the process continues: what was deferred is recorded."""
        self.sampling.flush_at_exit()

    def new_run(self) -> None:
        self.sampling = FitSampling(self._context)
        self.predictions = PredictCalls()

    def begin(self, model: Any, arguments: dict[str, Any], where: str) -> FitState:
        context, heartbeat = self._context, self._context.heartbeat
        heartbeat.thread = threading.get_ident()
        context.open_heartbeat()
        self._count += 1
        outer_phase = heartbeat.epoch, heartbeat.train_batches
        fit = FitState(
            self._count, model, arguments, where, base_step=heartbeat.step, outer_phase=outer_phase
        )
        self.sampling.begins(fit)
        self._open.append(fit)
        self.current = fit
        heartbeat.fit = fit.number
        heartbeat.epoch = int(arguments.get("initial_epoch") or 0)
        heartbeat.train_batches = heartbeat.test_batches = 0
        heartbeat.set_phase(Phase.FILL)
        return fit

    def record_started(self, fit: FitState, callbacks: list[dict[str, Any]]) -> None:
        if fit.recorded:
            return
        fit.recorded = True
        self._context.open_loops.record()
        given = fit.arguments
        self.sampling.starts(
            fit,
            FitStarted(
                fit=fit.number,
                model=str(getattr(fit.model, "name", "")),
                epochs=given.get("epochs"),
                initial_epoch=int(
                    getattr(fit.model, "_initial_epoch", None) or given.get("initial_epoch") or 0
                ),
                steps_per_epoch=given.get("steps_per_epoch"),
                planned_steps_per_epoch=fit.planned_steps,
                batch_size=given.get("batch_size"),
                validation=given.get("validation_data") is not None or bool(given.get("validation_split")),
                validation_steps=given.get("validation_steps"),
                validation_freq=given.get("validation_freq"),
                shuffle=given.get("shuffle"),
                callbacks=callbacks,
                iterations=model_facts.iterations(fit.model),
                where=fit.where,
                data_wait="sampled"
                if fit.data_wait == "none" and self._context.data.counted
                else fit.data_wait,
            ),
        )

    def epoch_begins(self, fit: FitState, epoch: int) -> None:
        heartbeat = self._context.heartbeat
        heartbeat.epoch = epoch
        heartbeat.train_batches = 0
        fit.epoch_base = heartbeat.step
        fit.epochs_begun += 1
        fit.epoch_open = True
        fit.epoch_clock = Stopwatch()
        fit.first_step_s = None
        fit.step_began_ns = 0
        self.sampling.record(fit, EpochStarted(fit=fit.number, epoch=epoch))

    def epoch_ends(self, fit: FitState, epoch: int, logs: dict[str, float]) -> None:
        heartbeat = self._context.heartbeat
        fit.epochs_done += 1
        fit.epoch_open = False
        fit.steps_by_epoch.append(heartbeat.train_batches)
        if len(fit.steps_by_epoch) > 2 * _KEPT_EPOCHS:
            del fit.steps_by_epoch[_KEPT_EPOCHS]
        fit.losses.append(logs)
        if len(fit.losses) > 2 * _KEPT_EPOCHS:
            del fit.losses[_KEPT_EPOCHS]
        self.sampling.record(
            fit,
            EpochDone(
                fit=fit.number,
                epoch=epoch,
                steps=heartbeat.train_batches,
                planned_steps=fit.planned_steps,
                logs=logs,
                learning_rate=model_facts.learning_rate(fit.model),
                duration_s=round(fit.epoch_clock.seconds, 4),
                first_step_s=fit.first_step_s,
                rss_bytes=rss_bytes(),
            ),
        )

    def end(self, fit: FitState, error: BaseException | None) -> None:
        heartbeat = self._context.heartbeat
        if fit in self._open:
            del self._open[self._open.index(fit) :]
            self.current = self._open[-1] if self._open else None
        if fit.epoch_open:
            fit.steps_by_epoch.append(heartbeat.train_batches)
        after = model_facts.fingerprint(fit.model)
        changed = None if None in (after, fit.weights_before) else after != fit.weights_before
        steps = heartbeat.step - fit.base_step
        self.sampling.fit_ended(
            fit,
            FitDone(
                fit=fit.number,
                steps=steps,
                epochs=fit.epochs_begun,
                epochs_done=fit.epochs_done,
                stopped=bool(getattr(fit.model, "stop_training", False)),
                raised=type(error).__name__ if error is not None else "",
                steps_by_epoch=list(fit.steps_by_epoch),
                iterations=model_facts.iterations(fit.model),
                weights_changed=changed,
            ),
        )
        outer = self.current
        if outer is not None:  # a callback of it fitted another model: its own steps continue where they were
            heartbeat.fit = outer.number
            heartbeat.epoch, heartbeat.train_batches = fit.outer_phase
            outer.base_step += steps
            outer.epoch_base += steps

    def record_notable(self, event: Event) -> None:
        """Something for which the fit is recorded in full, though it would have been left out."""
        self.sampling.record_notable(self.current, event)

    def record_current(self) -> None:
        """Records what was deferred of the fit that is under way: something that happened in it will be recorded."""
        if self.current is not None:
            self.sampling.record_in_full(self.current)

    def validation_begins(self, fit: FitState | None, planned: int | None) -> None:
        heartbeat = self._context.heartbeat
        heartbeat.test_batches = 0
        epoch = heartbeat.epoch if fit else None
        if fit is not None or self.sampling.evaluates():
            number = fit.number if fit else None
            self.sampling.record(fit, ValidationStarted(fit=number, epoch=epoch, planned_batches=planned))

    def validation_ends(self, fit: FitState | None, logs: dict[str, float], duration_s: float) -> None:
        heartbeat = self._context.heartbeat
        if fit is None and not self.sampling.evaluation_recorded:
            return
        self.sampling.record(
            fit,
            ValidationDone(
                fit=fit.number if fit else None,
                epoch=heartbeat.epoch if fit else None,
                batches=heartbeat.test_batches,
                logs=logs,
                duration_s=round(duration_s, 4),
            ),
        )


def numbers(logs: Any) -> dict[str, float]:
    """The numbers of a dictionary of logs: Python values already, or, before TensorFlow 2.5, values in host memory."""
    if not isinstance(logs, dict):
        return {}
    known = {name: value for name, value in logs.items() if finiteness.in_host_memory(value)}
    return {str(name): float(value) for name, value in known.items() if not len(getattr(value, "shape", ()))}


def rss_bytes() -> int | None:
    try:
        with open("/proc/self/statm", "rb") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        return None
