"""The training loop: a straight line. Its decisions are pure functions; what happens is reported to observers."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from typing import Any

from holdfast.journal import events as ev
from holdfast.journal.beats import Phase
from holdfast.step import out_of_memory
from holdfast.step.step_protocol import TrainStep, is_out_of_memory
from holdfast.train import early_stop_policy, loop_state, nonfinite, schedules
from holdfast.train.checkpoint.async_writer import AsyncCheckpointWriter, NullCheckpointWriter
from holdfast.train.checkpoint.checkpoint_files import Snapshot, digest_of
from holdfast.train.intervals import Interval
from holdfast.train.loop_state import LoopState
from holdfast.train.observers.observer import Observers, TrainerHeartbeat
from holdfast.train.schedules import Schedule

LOSS_EVERY_S = 2.0
LOSSES_OF_A_RUN = 50  # at least, so that a training of seconds has a course too


@dataclass(frozen=True, slots=True)
class TrainingPlan:
    """Settings that do not change during a run."""

    name: str
    steps: int
    batch: int
    images: int
    schedule: Schedule
    checkpoint: Interval
    validate: Interval
    freeze_steps: int = 0
    monitor: str = "AP"
    patience: int | None = None
    min_delta: float = 0.0
    on_nonfinite: str = "stop"
    nonfinite_limit: int = 3
    precision: str = "float32"


@dataclass(frozen=True)
class LoopEffects:
    """Everything the loop acts on, as functions, so that a test can replace each."""

    batches: Callable[[int], Iterator[Mapping[str, Any]]]  # starting at a step
    image_names: Callable[[Mapping[str, Any]], list[str]]
    validate: Callable[[Callable[[], bool]], dict[str, float] | None]  # None: stopped by a signal
    serving_weights: Callable[
        [TrainStep], AbstractContextManager[None]
    ]  # puts the EMA into the model, if any
    newest_checkpoint: Callable[[], Snapshot | None]  # adapted to the recipe
    run_facts: Callable[[], Mapping[str, Any]]  # for every checkpoint's meta
    writer: AsyncCheckpointWriter | NullCheckpointWriter
    observers: Observers
    heartbeat: TrainerHeartbeat
    stop_signal: Callable[[], str]  # its name, or empty
    clock: Callable[[], float] = time.monotonic
    while_waiting: Callable[[], AbstractContextManager[None]] = nullcontext  # for a batch


@dataclass(frozen=True, slots=True)
class PendingStep:
    """A step that was started and whose result was not fetched yet."""

    at: int
    batch: Mapping[str, Any]
    learning_rate: float
    result: Any


class TrainingLoop:
    def __init__(self, plan: TrainingPlan, step: TrainStep, state: LoopState, effects: LoopEffects) -> None:
        self.plan, self.step, self.state, self.effects = plan, step, state, effects
        self.started_at = state.step
        self._feed: Iterator[Mapping[str, Any]] | None = None
        self._pending: PendingStep | None = None
        self._recent: list[float] = []
        self._saved_at, self._saved_validation = state.step, state.validated_at
        self._last_save_at = self._last_validation_at = self._loss_reported_at = effects.clock()

    def run(self) -> str:
        """Trains until there is a reason to end, and returns it: finished, early-stopping, or the name of a signal."""
        self._begin()
        try:
            while True:
                if self._validation_due():
                    self._validate()
                if self._checkpoint_due():
                    self._save()
                if reason := self._reason_to_end():
                    break
                self._start_step(self.state.step, self._next_batch())
        except Exception as error:
            self._save_after_error(error)
            raise
        self._end(reason)
        return reason

    def end_now(self, reason: str) -> None:
        """From another thread, while this one waits for data: the state is that of `state.step`."""
        self._end(reason)

    # -- one step -------------------------------------------------------------------------------------

    def _next_batch(self) -> Mapping[str, Any]:
        fresh = self._feed is None
        if self._feed is None:
            self._feed = self.effects.batches(self.state.step)
        heartbeat, began = self.effects.heartbeat, time.monotonic_ns()
        heartbeat.beat(Phase.FILL if fresh else Phase.DATA_WAIT)
        with self.effects.while_waiting():
            batch = next(self._feed)
        heartbeat.wait_ns += time.monotonic_ns() - began
        return batch

    def _start_step(self, at: int, batch: Mapping[str, Any]) -> None:
        """Starts step `at`, then collects the result of the one before."""
        heartbeat, began = self.effects.heartbeat, time.monotonic_ns()
        heartbeat.beat(Phase.STEP if self.step.traces() else Phase.COMPILE)
        learning_rate = self._learning_rate(at)
        try:
            result = self.step(
                batch, step=at, learning_rate=learning_rate, frozen=at < self.plan.freeze_steps
            )
        except Exception as error:
            self._smaller_micro_batch(at, error)
            self._start_step(at, batch)
            return
        before, self._pending = self._pending, PendingStep(at, batch, learning_rate, result)
        self.state.step = at + 1
        self.state.epoch = at * self.plan.batch // self.plan.images
        if before is not None:
            self._collect_result(before)
        heartbeat.compute_ns += time.monotonic_ns() - began
        heartbeat.step = self.state.step
        heartbeat.beat(Phase.BETWEEN, step_ns=time.monotonic_ns() - began)

    def _learning_rate(self, at: int) -> float:
        return schedules.learning_rate_of(replace(self.plan.schedule, scale=self.state.rate_scale), at)

    def _flush_pending(self) -> None:
        """Waits for the pending step, so that the state is that of `state.step`. One that is repeated with a smaller
        micro-batch is pending again."""
        while self._pending is not None:
            pending, self._pending = self._pending, None
            self._collect_result(pending)

    def _collect_result(self, pending: PendingStep) -> None:
        try:
            numbers = self.step.fetch(pending.result)
        except Exception as error:
            repeated = [pending, *([self._pending] if self._pending else [])]
            self._pending = None
            if not self.step.undo(pending.result):
                raise
            # The state after `undo`, should the error be raised further and the state be saved.
            self.state.step = pending.at
            self._smaller_micro_batch(pending.at, error)
            for step in repeated:
                self._start_step(step.at, step.batch)
            return
        if numbers["finite"]:
            if not numbers[
                "applied"
            ]:  # steps after a non-finite one are dropped with it, and never collected
                raise RuntimeError(f"step {pending.at} was computed and not applied")
            self._count(pending, numbers)
        elif numbers["scale"] <= 1.0 or not math.isfinite(numbers["loss"]):
            # A loss scale above 1 may still be too large, which is no divergence; but it scales the gradient only.
            self._not_finite(pending, numbers)

    def _count(self, pending: PendingStep, numbers: dict[str, Any]) -> None:
        self.state.add(numbers)
        self._recent = [*self._recent[-19:], numbers["loss"]]
        self.effects.heartbeat.loss = numbers["loss"]
        done, clock = pending.at + 1, self.effects.clock()
        if (
            done - self.started_at <= 3
            or done % max(1, self.plan.steps // LOSSES_OF_A_RUN) == 0
            or done == self.plan.steps
            or clock - self._loss_reported_at >= LOSS_EVERY_S
        ):
            self._loss_reported_at = clock
            self._report_loss(
                done,
                {"loss": numbers["loss"], **numbers["parts"]},
                pending.learning_rate,
                numbers["gradient_norm"],
            )

    def _smaller_micro_batch(self, at: int, error: Exception) -> None:
        """After a refused allocation. Any other error is raised again."""
        if not is_out_of_memory(error):
            raise error
        before = self.step.micro_batch
        after = out_of_memory.smaller_micro_batch(before, self.plan.batch)
        if after is None:
            raise out_of_memory.out_of_memory_error(f"step {at}", error) from error
        self.step = self.step.split(after)
        self._notify(
            ev.MicroBatchSet(
                micro_batch=after, was=before, batch=self.plan.batch, reason="out-of-memory", step=at,
                error=str(error)[:500],
            )
        )  # fmt: skip

    def _not_finite(self, pending: PendingStep, numbers: dict[str, Any]) -> None:
        plan, state = self.plan, self.state
        names = self.effects.image_names(pending.batch)
        seen = nonfinite.nonfinite_event(
            pending.at,
            state.epoch,
            numbers,
            learning_rate=pending.learning_rate,
            recent=self._recent,
            precision=plan.precision,
            images=names,
        )
        self._notify(seen)
        so_far = state.skipped if plan.on_nonfinite == "skip" else state.rollbacks
        if plan.on_nonfinite != "skip":
            self._pending, state.step = None, pending.at  # nothing was applied since
        rollback_to = self.effects.newest_checkpoint() if plan.on_nonfinite == "rollback" else None
        policy = nonfinite.decide_policy(
            plan.on_nonfinite,
            so_far=so_far,
            limit=plan.nonfinite_limit,
            can_roll_back=rollback_to is not None,
        )
        if policy == "skip":
            state.skipped += 1
        elif policy == "rollback" and rollback_to is not None:
            self._roll_back(rollback_to, state)
        else:
            self._pending, state.step = None, pending.at
            self._save()
            raise nonfinite.nonfinite_error(seen, run=plan.name, batch=plan.batch)

    def _roll_back(self, to: Snapshot, failed: LoopState) -> None:
        self._pending = self._feed = None
        self.step.load(to.groups)
        self.state = loop_state.from_json(to.meta["progress"])
        self.state.rollbacks, self.state.rate_scale = failed.rollbacks + 1, failed.rate_scale * 0.5
        self._saved_at, self._saved_validation = self.state.step, self.state.validated_at
        self._notify(
            ev.RolledBack(
                step=to.step, learning_rate_scale=self.state.rate_scale, rollbacks=self.state.rollbacks
            )
        )

    # -- between steps --------------------------------------------------------------------------------

    def _reason_to_end(self) -> str:
        if self.state.step >= self.plan.steps:
            self._flush_pending()  # which may still roll back
            if self.state.step < self.plan.steps:
                return ""
            unvalidated = self.state.validated_at < self.state.step
            return (self.effects.stop_signal() if unvalidated else "") or "finished"
        if early_stop_policy.patience_exhausted(self.state.patience, self.plan.patience):
            return "early-stopping"
        return self.effects.stop_signal()

    def _validation_due(self) -> bool:
        step, last = self.state.step, self.state.validated_at
        since_s = self.effects.clock() - self._last_validation_at
        due = step > last and (
            step >= self.plan.steps or self.plan.validate.due(step, last_step=last, since_s=since_s)
        )
        return due and not self.effects.stop_signal()

    def _validate(self) -> None:
        at = self.state.step
        self._flush_pending()
        if self.state.step != at:  # rolled back to a step that was validated before
            return
        state, effects = self.state, self.effects
        self._report_loss(state.step, state.means(), self._learning_rate(max(0, state.step - 1)), None)
        began = effects.clock()
        self._notify(ev.ValidationStarted(fit=1, epoch=state.epoch))
        # Before the first batch, which compiles: in a group that is not waiting for the others.
        effects.heartbeat.beat(Phase.VALIDATION)
        with effects.serving_weights(self.step):
            metrics = effects.validate(lambda: bool(effects.stop_signal()))
        if metrics is None:
            return  # stopped: by the checkpoint this validation is still due
        before = state.last_validation.get(self.plan.monitor)
        state.validated_at, state.sums, state.summed, state.last_validation = state.step, {}, 0, metrics
        self._last_validation_at = effects.clock()
        self._notify(
            ev.ValidationDone(
                fit=1, epoch=state.epoch, logs=metrics, duration_s=self._last_validation_at - began
            )
        )
        value = metrics.get(self.plan.monitor)
        if value is not None and value < 0 and value != before:
            text = f"{self.plan.monitor} is not defined: the validation images have no boxes"
            self._notify(ev.Note(text=f"{text}, so there is no best checkpoint"))
        if value is not None and value >= 0:
            best_before = state.patience.best_step
            state.patience = early_stop_policy.after_evaluation(
                state.patience, value, state.step, min_delta=self.plan.min_delta
            )
            if state.patience.best_step != best_before:
                self._save(best=True)

    def _checkpoint_due(self) -> bool:
        since_s = self.effects.clock() - self._last_save_at
        return self.plan.checkpoint.due(self.state.step, last_step=self._saved_at, since_s=since_s)

    def _save(self, *, best: bool = False) -> None:
        self._flush_pending()
        self.effects.heartbeat.beat(Phase.SAVE)
        self.effects.writer.save(self.snapshot(), best=best)
        self._saved_at, self._last_save_at = self.state.step, self.effects.clock()
        self._saved_validation = self.state.validated_at

    def snapshot(self) -> Snapshot:
        groups = self.step.export()
        if self.plan.on_nonfinite != "skip":
            groups["optimizer"]["unapplied"] = (
                groups["optimizer"]["unapplied"] * 0
            )  # reported: training may continue
        meta = {
            **self.effects.run_facts(),
            "progress": self.state.as_json(),
            "micro_batch": self.step.micro_batch,
        }
        return Snapshot(self.state.step, groups, meta)

    # -- begin and end --------------------------------------------------------------------------------

    def _begin(self) -> None:
        plan, state = self.plan, self.state
        self.effects.heartbeat.step = state.step
        # One "epoch" of the journal is the entire run: its steps are what is planned, and they are seldom a multiple
        # of a pass over the data. Each loss event has the pass that its step belongs to.
        self._notify(
            ev.FitStarted(
                model=plan.name, epochs=1, planned_steps_per_epoch=plan.steps, batch_size=plan.batch,
                validation=True, iterations=state.step,
            )
        )  # fmt: skip
        self._notify(ev.EpochStarted())

    def _end(self, reason: str) -> None:
        self._flush_pending()
        if reason != "finished":
            settings = {
                "monitor": self.plan.monitor,
                "patience": self.plan.patience,
                **self.state.patience.as_json(),
            }
            self._notify(
                ev.StopRequested(by=reason, step=self.state.step, epoch=self.state.epoch, settings=settings)
            )
        saved = (self._saved_at, self._saved_validation) == (self.state.step, self.state.validated_at)
        if not saved or self.state.step == 0:
            self._save()
        groups = self.step.export()
        digest = digest_of({group: groups[group] for group in ("weights", "ema") if group in groups})
        self._notify(ev.WeightsHashed(sha256=digest, step=self.state.step))
        self._done(stopped=reason != "finished")

    def _done(self, *, stopped: bool, raised: str = "") -> None:
        step = self.state.step
        completed = step >= self.plan.steps
        self._notify(ev.EpochDone(steps=step, planned_steps=self.plan.steps, logs=self.state.last_validation))
        self._notify(
            ev.FitDone(
                steps=step, epochs=1, epochs_done=int(completed), stopped=stopped, raised=raised, steps_by_epoch=[step],
                iterations=step, weights_changed=step > 0,
            )
        )  # fmt: skip

    def _save_after_error(self, error: Exception) -> None:
        """After an error: the state of the last complete step, if it can still be fetched."""
        try:
            self._flush_pending()
            if self._saved_at != self.state.step:
                self._save()
        except Exception as second:
            self._notify(ev.Note(text=f"the state could not be saved after the error: {second}"))
        self._done(stopped=False, raised=type(error).__name__)

    def _report_loss(
        self, step: int, logs: dict[str, float], learning_rate: float, norm: float | None
    ) -> None:
        self._notify(
            ev.LossSeen(
                step=step, epoch=self.state.epoch, logs=logs, learning_rate=learning_rate, gradient_norm=norm
            )
        )

    def _notify(self, event: ev.Event) -> None:
        self.effects.observers.notify(event)
