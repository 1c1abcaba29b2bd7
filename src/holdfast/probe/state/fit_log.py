"""The fits of a process: what was asked of each, what it has done so far, and the events that say so."""

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
from . import model_facts, open_loops
from .fit_sampling import FitSampling

_KEPT_EPOCHS = 200  # of the counts at either end


@dataclass
class FitState:
    number: int
    model: Any
    arguments: dict[str, Any]
    where: str = ""
    data_wait: str = "none"  # exact | sampled | none: how waiting for data is told from computing
    callbacks: Any = None  # the CallbackList, once there is one
    said: bool = False
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
    stopped: bool = False
    outer_place: tuple[int, int] = (0, 0)  # epoch and batches of it where the fit around this one stood
    began_at: float = 0.0
    untold: list[bool] = field(default_factory=list)  # not empty: nothing is said of it yet
    started: FitStarted | None = None
    withheld: list[Event] = field(default_factory=list)


class ActiveFits:
    """The fits that are under way, innermost last, and those before only as a number."""

    def __init__(self, session: ProbeContext) -> None:
        self._session = session
        self._open: list[FitState] = []
        self.current: FitState | None = None
        self._count = 0
        self.many = FitSampling(session)

    def forget(self) -> None:
        """Another run begins, or none: what was held back is said, and counted anew."""
        self.many.leave()
        self.many = FitSampling(self._session)

    def begin(self, model: Any, arguments: dict[str, Any], where: str) -> FitState:
        session, progress = self._session, self._session.progress
        progress.thread = threading.get_ident()
        session.take_ring()
        self._count += 1
        outer_place = progress.epoch, progress.train_batches
        fit = FitState(self._count, model, arguments, where, base_step=progress.step, outer_place=outer_place)
        self.many.begins(fit)
        self._open.append(fit)
        self.current = fit
        progress.fit = fit.number
        progress.epoch = int(arguments.get("initial_epoch") or 0)
        progress.train_batches = progress.test_batches = 0
        progress.enter(Phase.FILL)
        return fit

    def say_started(self, fit: FitState, callbacks: list[dict[str, Any]]) -> None:
        if fit.said:
            return
        fit.said = True
        self._session.guard(open_loops.PART, open_loops.tell, self._session)
        given = fit.arguments
        self.many.starts(
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
                if fit.data_wait == "none" and "pipeline" in self._session.seen
                else fit.data_wait,
            ),
        )

    def epoch_begins(self, fit: FitState, epoch: int) -> None:
        progress = self._session.progress
        progress.epoch = epoch
        progress.train_batches = 0
        fit.epoch_base = progress.step
        fit.epochs_begun += 1
        fit.epoch_open = True
        fit.epoch_clock = Stopwatch()
        fit.first_step_s = None
        fit.step_began_ns = 0
        self.many.say(fit, EpochStarted(fit=fit.number, epoch=epoch))

    def epoch_ends(self, fit: FitState, epoch: int, logs: dict[str, float]) -> None:
        progress = self._session.progress
        fit.epochs_done += 1
        fit.epoch_open = False
        fit.steps_by_epoch.append(progress.train_batches)
        if len(fit.steps_by_epoch) > 2 * _KEPT_EPOCHS:
            del fit.steps_by_epoch[_KEPT_EPOCHS]
        self.many.say(
            fit,
            EpochDone(
                fit=fit.number,
                epoch=epoch,
                steps=progress.train_batches,
                planned_steps=fit.planned_steps,
                logs=logs,
                learning_rate=model_facts.learning_rate(fit.model),
                duration_s=round(fit.epoch_clock.seconds, 4),
                first_step_s=fit.first_step_s,
                rss_bytes=rss_bytes(),
            ),
        )

    def end(self, fit: FitState, error: BaseException | None) -> None:
        progress = self._session.progress
        if fit in self._open:
            del self._open[self._open.index(fit) :]
            self.current = self._open[-1] if self._open else None
        if fit.epoch_open:
            fit.steps_by_epoch.append(progress.train_batches)
        after = model_facts.fingerprint(fit.model)
        changed = None if None in (after, fit.weights_before) else after != fit.weights_before
        steps = progress.step - fit.base_step
        self.many.over(
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
        if outer is not None:  # a callback of it fitted another model: its own steps go on where they were
            progress.fit = outer.number
            progress.epoch, progress.train_batches = fit.outer_place
            outer.base_step += steps
            outer.epoch_base += steps

    def validation_begins(self, fit: FitState | None, planned: int | None) -> None:
        progress = self._session.progress
        progress.test_batches = 0
        epoch = progress.epoch if fit else None
        if fit is not None or self.many.evaluates():
            number = fit.number if fit else None
            self.many.say(fit, ValidationStarted(fit=number, epoch=epoch, planned_batches=planned))

    def validation_ends(self, fit: FitState | None, logs: dict[str, float], duration_s: float) -> None:
        progress = self._session.progress
        if fit is None and not self.many.evaluation_told:
            return
        self.many.say(
            fit,
            ValidationDone(
                fit=fit.number if fit else None,
                epoch=progress.epoch if fit else None,
                batches=progress.test_batches,
                logs=logs,
                duration_s=round(duration_s, 4),
            ),
        )


def of(session: ProbeContext) -> ActiveFits:
    found = session.seen.get("fits")
    if found is None:
        found = session.seen["fits"] = ActiveFits(session)
    return found


def say_notable(session: ProbeContext, event: Event) -> None:
    """What is worth a fit's being told for it."""
    fits = of(session)
    fits.many.say_notable(fits.current, event)


def tell_current(session: ProbeContext) -> None:
    """Says of the fit that is under way what was held back: something is to be said that happened in it."""
    fits = of(session)
    if fits.current is not None:
        fits.many.tell(fits.current)


def numbers(logs: Any) -> dict[str, float]:
    """The numbers of a dictionary of logs that Keras has made Python values of already."""
    if not isinstance(logs, dict):
        return {}
    return {str(name): float(value) for name, value in logs.items() if isinstance(value, int | float)}


def rss_bytes() -> int | None:
    try:
        with open("/proc/self/statm", "rb") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        return None
