"""The training loop: a straight line. What it decides with is pure; what it tells, it tells to witnesses."""

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


@dataclass(frozen=True, slots=True)
class TrainingPlan:
    """What stays the same from the first step to the last."""

    name: str
    steps: int
    batch: int
    images: int
    schedule: Schedule
    checkpoint: Interval
    validate: Interval
    held_steps: int = 0
    monitor: str = "AP"
    patience: int | None = None
    min_delta: float = 0.0
    on_nonfinite: str = "stop"
    nonfinite_limit: int = 3
    precision: str = "float32"


@dataclass(frozen=True)
class LoopEffects:
    """What the loop touches, each as a function, so that a test can hand it another."""

    batches: Callable[[int], Iterator[Mapping[str, Any]]]  # from a step on
    picture_names: Callable[[Mapping[str, Any]], list[str]]
    validate: Callable[[Callable[[], bool]], dict[str, float] | None]  # None: asked to stop meanwhile
    serving: Callable[
        [TrainStep], AbstractContextManager[None]
    ]  # the model with the weights that are validated
    newest: Callable[[], Snapshot | None]  # as the recipe of now needs it
    facts: Callable[[], Mapping[str, Any]]  # of the run, for every checkpoint's meta
    saver: AsyncCheckpointWriter | NullCheckpointWriter
    witnesses: Observers
    pulse: TrainerHeartbeat
    stop_asked: Callable[[], str]  # the name of a signal, or nothing
    clock: Callable[[], float] = time.monotonic
    waiting: Callable[[], AbstractContextManager[None]] = nullcontext  # around the wait for a batch


@dataclass(frozen=True, slots=True)
class PendingStep:
    """A step under way, whose numbers have not been looked at."""

    at: int
    batch: Mapping[str, Any]
    rate: float
    result: Any


class TrainingLoop:
    def __init__(self, plan: TrainingPlan, step: TrainStep, now: LoopState, world: LoopEffects) -> None:
        self.plan, self.step, self.now, self.world = plan, step, now, world
        self.started_at = now.step
        self._feed: Iterator[Mapping[str, Any]] | None = None
        self._flight: PendingStep | None = None
        self._recent: list[float] = []
        self._saved_at, self._saved_validation = now.step, now.validated_at
        self._saved_mono = self._validated_mono = self._told_mono = world.clock()

    def run(self) -> str:
        """Trains until there is a reason to end, and says which: finished, early-stopping, or a signal's name."""
        self._begin()
        try:
            while True:
                if self._validation_due():
                    self._validate()
                if self._checkpoint_due():
                    self._save()
                if reason := self._reason_to_end():
                    break
                self._advance(self.now.step, self._next_batch())
        except Exception as error:
            self._save_what_stands(error)
            raise
        self._end(reason)
        return reason

    def end_now(self, reason: str) -> None:
        """From another thread, while this one waits for data: the state is that of `now.step`."""
        self._end(reason)

    # -- one step -------------------------------------------------------------------------------------

    def _next_batch(self) -> Mapping[str, Any]:
        fresh = self._feed is None
        if self._feed is None:
            self._feed = self.world.batches(self.now.step)
        pulse, began = self.world.pulse, time.monotonic_ns()
        pulse.beat(Phase.FILL if fresh else Phase.DATA_WAIT)
        with self.world.waiting():
            batch = next(self._feed)
        pulse.wait_ns += time.monotonic_ns() - began
        return batch

    def _advance(self, at: int, batch: Mapping[str, Any]) -> None:
        """Sends off step `at`, then looks at the numbers of the one before."""
        pulse, began = self.world.pulse, time.monotonic_ns()
        pulse.beat(Phase.STEP if self.step.traces() else Phase.COMPILE)
        rate = self._rate(at)
        try:
            result = self.step(batch, step=at, rate=rate, held=at < self.plan.held_steps)
        except Exception as error:
            self._smaller_micro_batch(at, error)
            self._advance(at, batch)
            return
        before, self._flight = self._flight, PendingStep(at, batch, rate, result)
        self.now.step = at + 1
        self.now.epoch = at * self.plan.batch // self.plan.images
        if before is not None:
            self._look_at(before)
        pulse.compute_ns += time.monotonic_ns() - began
        pulse.step = self.now.step
        pulse.beat(Phase.BETWEEN, step_ns=time.monotonic_ns() - began)

    def _rate(self, at: int) -> float:
        return schedules.learning_rate_of(replace(self.plan.schedule, scale=self.now.rate_scale), at)

    def _settle(self) -> None:
        """Waits for the step under way, so that state and numbers are those of `now.step`. One that runs again, with
        less memory, is under way once more."""
        while self._flight is not None:
            flight, self._flight = self._flight, None
            self._look_at(flight)

    def _look_at(self, flight: PendingStep) -> None:
        try:
            numbers = self.step.fetch(flight.result)
        except Exception as error:
            again = [flight, *([self._flight] if self._flight else [])]
            self._flight = None
            if not self.step.undo(flight.result):
                raise
            # Where it stands now, should the error go on its way and the state be saved.
            self.now.step = flight.at
            self._smaller_micro_batch(flight.at, error)
            for one in again:
                self._advance(one.at, one.batch)
            return
        if numbers["finite"]:
            if not numbers[
                "applied"
            ]:  # what came after one that was not finite is dropped with it, and never gets here
                raise RuntimeError(f"step {flight.at} was computed and not applied")
            self._count(flight, numbers)
        elif numbers["scale"] <= 1.0 or not math.isfinite(numbers["loss"]):
            # A scale above 1 may be finding its size, which is no divergence; but it scales the gradient alone.
            self._not_finite(flight, numbers)

    def _count(self, flight: PendingStep, numbers: dict[str, Any]) -> None:
        self.now.add(numbers)
        self._recent = [*self._recent[-19:], numbers["loss"]]
        self.world.pulse.loss = numbers["loss"]
        done, clock = flight.at + 1, self.world.clock()
        if done - self.started_at <= 3 or done == self.plan.steps or clock - self._told_mono >= LOSS_EVERY_S:
            self._told_mono = clock
            self._tell_loss(
                done, {"loss": numbers["loss"], **numbers["parts"]}, flight.rate, numbers["gradient_norm"]
            )

    def _smaller_micro_batch(self, at: int, error: Exception) -> None:
        """After a refused allocation; any other error goes on its way."""
        if not is_out_of_memory(error):
            raise error
        before = self.step.micro_batch
        after = out_of_memory.smaller_micro_batch(before, self.plan.batch)
        if after is None:
            raise out_of_memory.out_of_memory_error(f"step {at}", error) from error
        self.step = self.step.split(after)
        self._say(
            ev.MicroBatchSet(
                micro_batch=after, was=before, batch=self.plan.batch, reason="out-of-memory", step=at,
                error=str(error)[:500],
            )
        )  # fmt: skip

    def _not_finite(self, flight: PendingStep, numbers: dict[str, Any]) -> None:
        plan, now = self.plan, self.now
        names = self.world.picture_names(flight.batch)
        seen = nonfinite.nonfinite_event(
            flight.at,
            now.epoch,
            numbers,
            rate=flight.rate,
            recent=self._recent,
            precision=plan.precision,
            images=names,
        )
        self._say(seen)
        so_far = now.skipped if plan.on_nonfinite == "skip" else now.rollbacks
        if plan.on_nonfinite != "skip":
            self._flight, now.step = None, flight.at  # nothing was applied since, so this is where it stands
        back = self.world.newest() if plan.on_nonfinite == "rollback" else None
        what = nonfinite.decide_policy(
            plan.on_nonfinite, so_far=so_far, limit=plan.nonfinite_limit, can_roll_back=back is not None
        )
        if what == "skip":
            now.skipped += 1
        elif what == "rollback" and back is not None:
            self._go_back(back, now)
        else:
            self._flight, now.step = None, flight.at
            self._save()
            raise nonfinite.nonfinite_error(seen, run=plan.name, batch=plan.batch)

    def _go_back(self, to: Snapshot, now: LoopState) -> None:
        self._flight = self._feed = None
        self.step.load(to.groups)
        self.now = loop_state.from_json(to.meta["progress"])
        self.now.rollbacks, self.now.rate_scale = now.rollbacks + 1, now.rate_scale * 0.5
        self._saved_at, self._saved_validation = self.now.step, self.now.validated_at
        self._say(
            ev.RolledBack(step=to.step, learning_rate_scale=self.now.rate_scale, rollbacks=self.now.rollbacks)
        )

    # -- between steps --------------------------------------------------------------------------------

    def _reason_to_end(self) -> str:
        if self.now.step >= self.plan.steps:
            self._settle()  # which may still go back
            if self.now.step < self.plan.steps:
                return ""
            unvalidated = self.now.validated_at < self.now.step
            return (self.world.stop_asked() if unvalidated else "") or "finished"
        if early_stop_policy.patience_exhausted(self.now.patience, self.plan.patience):
            return "early-stopping"
        return self.world.stop_asked()

    def _validation_due(self) -> bool:
        step, last = self.now.step, self.now.validated_at
        since_s = self.world.clock() - self._validated_mono
        due = step > last and (
            step >= self.plan.steps or self.plan.validate.due(step, last_step=last, since_s=since_s)
        )
        return due and not self.world.stop_asked()

    def _validate(self) -> None:
        at = self.now.step
        self._settle()
        if self.now.step != at:  # it went back, to where this was validated before
            return
        now, world = self.now, self.world
        self._tell_loss(now.step, now.means(), self._rate(max(0, now.step - 1)), None)
        began = world.clock()
        self._say(ev.ValidationStarted(fit=1, epoch=now.epoch))
        with world.serving(self.step):
            found = world.validate(lambda: bool(world.stop_asked()))
        if found is None:
            return  # asked to stop: the checkpoint says that this validation is still to be made
        before = now.last_validation.get(self.plan.monitor)
        now.validated_at, now.sums, now.summed, now.last_validation = now.step, {}, 0, found
        self._validated_mono = world.clock()
        self._say(
            ev.ValidationDone(fit=1, epoch=now.epoch, logs=found, duration_s=self._validated_mono - began)
        )
        value = found.get(self.plan.monitor)
        if value is not None and value < 0 and value != before:
            text = f"{self.plan.monitor} is not defined: nothing is marked in the pictures that it is validated on"
            self._say(ev.Note(text=f"{text}, so no weights can be called the best"))
        if value is not None and value >= 0:
            best_before = now.patience.best_step
            now.patience = early_stop_policy.after_evaluation(
                now.patience, value, now.step, min_delta=self.plan.min_delta
            )
            if now.patience.best_step != best_before:
                self._save(best=True)

    def _checkpoint_due(self) -> bool:
        since_s = self.world.clock() - self._saved_mono
        return self.plan.checkpoint.due(self.now.step, last_step=self._saved_at, since_s=since_s)

    def _save(self, *, best: bool = False) -> None:
        self._settle()
        self.world.pulse.beat(Phase.SAVE)
        self.world.saver.save(self.snapshot(), best=best)
        self._saved_at, self._saved_mono = self.now.step, self.world.clock()
        self._saved_validation = self.now.validated_at

    def snapshot(self) -> Snapshot:
        groups = self.step.export()
        if self.plan.on_nonfinite != "skip":
            groups["optimizer"]["unapplied"] = groups["optimizer"]["unapplied"] * 0  # looked at: may go on
        meta = {**self.world.facts(), "progress": self.now.as_json(), "micro_batch": self.step.micro_batch}
        return Snapshot(self.now.step, groups, meta)

    # -- begin and end --------------------------------------------------------------------------------

    def _begin(self) -> None:
        plan, now = self.plan, self.now
        self.world.pulse.step = now.step
        # One "epoch" of the journal is the whole run: its steps are what is planned, and passes over the data
        # seldom divide them. Which pass a step belongs to stands in every point of the loss.
        self._say(
            ev.FitStarted(
                model=plan.name, epochs=1, planned_steps_per_epoch=plan.steps, batch_size=plan.batch,
                validation=True, iterations=now.step,
            )
        )  # fmt: skip
        self._say(ev.EpochStarted())

    def _end(self, reason: str) -> None:
        self._settle()
        if reason != "finished":
            settings = {
                "monitor": self.plan.monitor,
                "patience": self.plan.patience,
                **self.now.patience.as_json(),
            }
            self._say(
                ev.StopRequested(by=reason, step=self.now.step, epoch=self.now.epoch, settings=settings)
            )
        saved = (self._saved_at, self._saved_validation) == (self.now.step, self.now.validated_at)
        if not saved or self.now.step == 0:
            self._save()
        groups = self.step.export()
        digest = digest_of({group: groups[group] for group in ("weights", "ema") if group in groups})
        self._say(ev.WeightsHashed(sha256=digest, step=self.now.step))
        self._done(stopped=reason != "finished")

    def _done(self, *, stopped: bool, raised: str = "") -> None:
        step = self.now.step
        whole = step >= self.plan.steps
        self._say(ev.EpochDone(steps=step, planned_steps=self.plan.steps, logs=self.now.last_validation))
        self._say(
            ev.FitDone(
                steps=step, epochs=1, epochs_done=int(whole), stopped=stopped, raised=raised, steps_by_epoch=[step],
                iterations=step, weights_changed=step > 0,
            )
        )  # fmt: skip

    def _save_what_stands(self, error: Exception) -> None:
        """After an error: the state of the last whole step, unless that cannot be had any more."""
        try:
            self._settle()
            if self._saved_at != self.now.step:
                self._save()
        except Exception as second:
            self._say(ev.Note(text=f"the state could not be saved after the error: {second}"))
        self._done(stopped=False, raised=type(error).__name__)

    def _tell_loss(self, step: int, logs: dict[str, float], rate: float, norm: float | None) -> None:
        self._say(
            ev.LossSeen(step=step, epoch=self.now.epoch, logs=logs, learning_rate=rate, gradient_norm=norm)
        )

    def _say(self, event: ev.Event) -> None:
        self.world.witnesses.say(event)
