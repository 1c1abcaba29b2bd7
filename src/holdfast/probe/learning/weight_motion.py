"""How far the trainable variables move: since the start of a fit, and in single steps.

Samples are taken where the probe works anyway: before a fit, after its first steps, at the end of its first epoch and
of the fit, and around the first step of some epochs. The steps between cost nothing. On JAX weights cannot be read in
the middle of an epoch: there only before and after the fit.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from ...journal.events import WeightsMoved
from . import weight_sample
from .weight_sample import Sampled

if TYPE_CHECKING:
    from ..runtime.context import ProbeContext
    from ..state.fit_log import FitState

PART = "weight_motion"
_COMPARED_STEP = (
    4  # of a fit: the first three have weights that are just made, and optimizers without a history
)
_MOST_FITS = 60  # whose weights are looked at; a search has thousands


class Motion:
    """The samples of one fit."""

    def __init__(self) -> None:
        self.start: dict[int, Sampled] = {}
        self.last: dict[int, Sampled] = {}  # of the end of the step or the epoch before
        self.last_step = 0
        self.watching = True  # single steps are compared now
        self.first_loss: float | None = None
        self.averages: dict[str, Any] = {}  # of batch normalisation, at the start
        self.moved: float | None = None  # of all variables since the start, against their size then


class WeightMotion:
    def __init__(self, context: ProbeContext) -> None:
        self._context = context
        self.new_run()

    def new_run(self) -> None:
        self._fits = 0
        self._loop_start: dict[int, Sampled] = {}

    def loop_began(self, model: Any) -> None:
        """After the first step of a loop of the user's own; what it has changed by then is one step."""
        self._loop_start = self._context.guard(PART, lambda: weight_sample.sample(model, at_rest=False)) or {}

    def loop_ended(self, model: Any, step: int) -> None:
        self._context.guard(PART, self._loop_over, model, step)

    def _loop_over(self, model: Any, step: int) -> None:
        start, self._loop_start = self._loop_start, {}
        now = weight_sample.sample(model, at_rest=True) if start and step > 1 else {}
        variables = all_compared(start, now, 1)
        if variables:
            self._context.record(WeightsMoved(since="start", step=step, variables=variables))

    def fit_begins(self, fit: FitState) -> None:
        self._context.guard(PART, self._begin, fit)

    def step_ends(self, fit: FitState, step: int) -> None:
        self._context.guard(PART, self._step_ended, fit, step)

    def epoch_ends(self, fit: FitState, step: int) -> None:
        self._context.guard(PART, self._epoch_ended, fit, step)

    def fit_ends(self, fit: FitState, step: int) -> None:
        self._context.guard(PART, self._fit_ended, fit, step)

    def _begin(self, fit: FitState) -> None:
        """Before the first step; a model without an input shape has its weights only later."""
        if fit.motion is None:
            self._fits += 1
            if self._fits > _MOST_FITS or fit.deferred:
                return
            fit.motion = Motion()
        if not fit.motion.start:
            fit.motion.start = weight_sample.sample(fit.model, at_rest=True)
            fit.motion.averages = self._context.averages.of(fit.model)

    def _step_ended(self, fit: FitState, step: int) -> None:
        """One of the first steps of the fit, or the first of an epoch."""
        motion: Motion | None = fit.motion
        if motion is None:
            return
        if motion.first_loss is None and self._context.losses.on_cpu:
            motion.first_loss = self._context.heartbeat.loss
        if step < _COMPARED_STEP - 1 and motion.start:
            return
        now = weight_sample.sample(fit.model, at_rest=False)
        if not motion.start:
            motion.start = now
        if motion.last and now:
            self._record(fit, "step", motion.last, now, step, steps=step - motion.last_step)
        motion.last, motion.last_step = (now, step) if step >= _COMPARED_STEP - 1 else ({}, step)
        if step >= _COMPARED_STEP or not now:
            motion.watching = False
            motion.last = {}

    def _epoch_ended(self, fit: FitState, step: int) -> None:
        """After epochs 1, 4, 16, 64 and so on the next step is compared."""
        motion, done = fit.motion, fit.epochs_done
        if motion is None or done & (done - 1) or done.bit_length() % 2 == 0:
            return
        now = weight_sample.sample(fit.model, at_rest=False)
        if not now:
            return
        if done == 1:
            self._record(fit, "start", motion.start, now, step)
        motion.last, motion.last_step, motion.watching = now, step, True

    def _fit_ended(self, fit: FitState, step: int) -> None:
        motion = fit.motion
        if motion is not None and motion.start:
            now = weight_sample.sample(fit.model, at_rest=True)
            motion.moved = self._record(fit, "start", motion.start, now, step)
            self._context.averages.compare(motion.averages, fit.model, step, fit=fit.number)
            motion.start, motion.last, motion.watching = {}, {}, False

    def _record(
        self,
        fit: FitState,
        since: str,
        before: dict[int, Sampled],
        now: dict[int, Sampled],
        step: int,
        steps: int = 1,
    ) -> float | None:
        known = all_compared(before, now, max(1, steps))
        if not known:
            return None
        event = WeightsMoved(fit=fit.number, since=since, step=step, variables=known)
        self._context.fits.sampling.record(fit, event)
        size = math.sqrt(sum(one["rms_before"] ** 2 * one["size"] for one in known))
        change = math.sqrt(sum(one["change"] ** 2 * one["size"] for one in known))
        return change / size if size else None


def all_compared(before: dict[int, Sampled], now: dict[int, Sampled], steps: int) -> list[dict[str, Any]]:
    pairs = [(before[place], now[place]) for place in now if place in before]
    alike = [pair for pair in pairs if pair[0].values.shape == pair[1].values.shape]
    compared = [_compared(*pair, steps) for pair in alike]
    return [one for one in compared if one is not None]


def _compared(before: Sampled, now: Sampled, steps: int) -> dict[str, Any] | None:
    import numpy as np

    with np.errstate(all="ignore"):
        rms_before, rms, change = (
            _rms(np, one) for one in (before.values, now.values, now.values - before.values)
        )
    if not all(math.isfinite(value) for value in (rms_before, rms, change)):
        return None
    numbers: dict[str, Any] = {"name": now.name, "layer": now.layer, "size": now.size}
    for name, value in (("rms", rms), ("rms_before", rms_before), ("change", change / steps)):
        numbers[name] = float(f"{value:.4g}")
    if now.equal_units is not None:
        numbers.update(equal_units=now.equal_units, equal_units_before=bool(before.equal_units))
    numbers.update(constant=now.constant, constant_before=before.constant)
    return numbers


def _rms(np: Any, values: Any) -> float:
    return float(np.sqrt(np.mean(np.square(values, dtype="float64"))))
