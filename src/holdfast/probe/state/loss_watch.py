"""The loss and its parts: kept at every step where that costs nothing, recorded now and then and when it turns bad.

What Keras reports is the mean since the epoch began. The loss of a step is worked out from two means
(all batches taken as equal), which is good enough to see a jump; where short steps were only counted, it is their mean.
"""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable
from typing import Any

from ...journal.events import LossSeen, NonFiniteSeen
from ..runtime.context import ProbeContext
from . import finiteness, model_facts

PART = "loss_watch"

_KEEP = 64
_ALWAYS_FIRST = 20  # steps of a fit that are always written
_EVERY_S = 1.0  # then one a second, later fewer
_NEWEST = (
    30  # of a loop, that are written when the process ends: a short one is over before a second has passed
)
_PLAIN = (int, float)
_ORDINARY = 12  # steps that show what is usual
_JUMP = 1e3  # times the loss of late: no step of an optimizer does it, a batch does
_WORSE = 3.0  # times the loss of late: written at once, though not more often than ten times a second
#: A mean in float32 is rounded by this share of it. A step's own loss is worked out of two means, and after an
#: explosion it is too small for what they still show.
_ROUNDING, _TIMES_ROUNDING, _FAR_BELOW = 2.0**-23, 10.0, 1e-3
_WORSE_AT_ONCE = 100  # times in a process; a loss that is not a number, or around zero, would be so forever


class Losses:
    def __init__(self, context: ProbeContext, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._context = context
        self._heartbeat = context.heartbeat
        self._now = monotonic
        self.recent: deque[float] = deque(maxlen=_KEEP)
        self.recent_steps: deque[float] = deque(maxlen=_KEEP)  # each step's own, worked out
        self._newest: deque[tuple[int, int, float | None, dict[str, Any]]] = deque(
            maxlen=_NEWEST
        )  # of a loop, not written yet
        self._average: float | None = None
        self._last_mean = (-1, 0, 0.0)  # epoch, batches of it, mean
        self._written_at = 0.0
        self._learning_rate_at: tuple[float, float | None] | None = None
        self._fit_step = 0
        self._fit_recorded = True
        self._worse = 0
        self._recorded: set[str] = set()
        self._means = True  # what is reported is the mean since the epoch began
        self.last_logs: Any = None  # of the epoch that is under way
        self._last_finite: float | None = None
        self.on_cpu: bool | None = None  # whether losses are in host memory: then each is read at its step
        self._check_due = False  # another thread saw a loss that is not finite: the weights are checked here
        self._sentinel: finiteness.Sentinel | None = None
        self._review = finiteness.PeriodicFiniteCheck()
        self._recorded_step: int | None = None  # of losses that come after their step

    def new_run(self) -> None:
        self._written_at = 0.0
        self._worse = 0
        self._newest.clear()
        self.last_logs = None

    # -- called by the thread that trains -----------------------------------------------------------

    def fit_begins(self, model: Any) -> None:
        self._fit_step = self._context.heartbeat.step
        fit = self._context.fits.current
        self._fit_recorded = fit is None or not fit.deferred
        self._average = None
        self._last_mean = (-1, 0, 0.0)
        self._means = True
        self._lost_in_mean = False  # the newest step's own loss
        self._learning_rate_at = None
        self.on_cpu = None
        self._sentinel = None
        self._recorded.clear()
        self.recent.clear()
        self.recent_steps.clear()
        self._last_finite = None

    def fit_ends(self, model: Any) -> None:
        self._sentinel = None
        self._review = finiteness.PeriodicFiniteCheck()
        self.epoch_over(model)

    def epoch_over(self, model: Any) -> None:
        """Weights may be broken under a loss that is still a number."""
        if model is None or not self._context.heartbeat.step or {"loss", "weights"} & self._recorded:
            return
        weights = self._review.check(model, self._now())
        if weights is not None and weights.weights is False:
            self._not_finite("weights", weights.name, math.nan, model, exact=False, before=None)

    def step_done(
        self, model: Any, logs: Any, step: int | None = None, weights_before: bool | None = None
    ) -> None:
        """Right after a step, in its own thread. Only a value that is in host memory already is read."""
        if self._check_due:
            self._check_due = False
            self._not_finite("weights", "", math.nan, model, exact=False, before=None)
        loss = logs.get("loss") if isinstance(logs, dict) else None
        if loss is None:
            return
        if self.on_cpu is None:
            self.on_cpu = finiteness.in_host_memory(loss)
        if not self.on_cpu:
            return
        heartbeat = self._heartbeat
        self._recorded_step = step
        heartbeat.loss = value = float(loss)
        if not math.isfinite(value) and "loss" not in self._recorded:
            before = self._sentinel.last if self._sentinel is not None else None
            before = weights_before if before is None else before
            self._not_finite("loss", "loss", value, model, exact=True, before=before)
        else:
            self._watch_weights(model, value)
        self._note(step or heartbeat.step, heartbeat.epoch, heartbeat.train_batches, value, logs, model)

    def _watch_weights(self, model: Any, loss: float) -> None:
        if self._sentinel is None:
            self._sentinel = finiteness.Sentinel(model)
        if not self._sentinel.check(self._heartbeat.step_ns, loss) and "weights" not in self._recorded:
            self._not_finite("weights", self._sentinel.name, math.nan, model, exact=True, before=True)

    def weights_unwatched(self) -> None:
        """Steps were only counted: whether the weights were finite before this one is not known."""
        if self._sentinel is not None:
            self._sentinel.last = None

    def loop_step(
        self,
        model: Any,
        logs: dict[str, Any],
        gradient: Any = None,
        step: int | None = None,
        weights_before: bool | None = None,
    ) -> None:
        """A step of a loop of the user's own, this one or one of late: every number is of this step alone."""
        known = {name: float(value) for name, value in logs.items()}
        self._means = False
        self._recorded_step = step
        if (
            gradient is not None
            and "gradient" not in self._recorded
            and math.isfinite(known.get("loss", math.nan))
        ):
            self._watch_gradient(gradient, known["loss"], model)
        if "loss" not in known:
            return
        self.on_cpu = True
        self.step_done(model, known, step, weights_before)

    def _watch_gradient(self, gradient: Any, loss: float, model: Any) -> None:
        """The gradient of a loss that is a number itself."""
        if not finiteness.all_finite(finiteness.reader(gradient)()):
            self._last_finite = loss
            self._not_finite("gradient", "", math.nan, model, exact=True, before=True)

    def weights_broke(self, step: int, loss: float) -> None:
        """Before this step, whose loss is a number. They are not at hand any more."""
        if "weights" not in self._recorded:
            self._recorded_step, self._last_finite = step, loss
            self._not_finite("weights", "", math.nan, None, exact=True, before=None, seen="later")

    def numbers(self, logs: Any) -> dict[str, float]:
        """Of logs that are numbers already, or, as Keras 2 hands them on, values in host memory."""
        if not isinstance(logs, dict):
            return {}
        return {
            str(name): float(value)
            for name, value in logs.items()
            if isinstance(value, _PLAIN)
            or (self.on_cpu and finiteness.in_host_memory(value) and not len(value.shape))
        }

    # -- called where Keras has made numbers of the logs, perhaps in another thread -----------------

    def turned(self, logs: Any) -> bool:
        """Whether the loss is unlike the last one that was read."""
        loss = logs.get("loss") if type(logs) is dict else None
        last = self._last_mean[2]
        return not (
            isinstance(loss, _PLAIN) and (loss == last or 0.5 < abs(loss) / (abs(last) or 1e-30) < 2.0)
        )

    def logs_read(self, step: int, epoch: int, batch: int, logs: dict[str, float], model: Any) -> None:
        """`batch`: how many of the epoch are done."""
        loss = logs.get("loss")
        last_epoch, last_batch, _ = self._last_mean
        if loss is not None and (epoch != last_epoch or batch > last_batch):  # else it was read at its step
            self._heartbeat.loss = loss
            self._recorded_step = step
            self._note(step, epoch, batch, loss, logs, model)

    def late_logs_read(self, step: int, epoch: int, logs: dict[str, float], model: Any) -> None:
        """Of a step of a loop of the user's own that is over: every number is of that step alone."""
        self._means = False
        self.logs_read(step, epoch, step, logs, model)

    def _note(self, step: int, epoch: int, batch: int, loss: float, logs: dict[str, Any], model: Any) -> None:
        self.last_logs = logs
        worse = self._remember(epoch, batch, loss)
        if not math.isfinite(loss):
            self._parts_broken(self.numbers(logs), model)
        now = self._now()
        waited = now - self._written_at
        due = waited >= _EVERY_S and waited >= self._interval()
        turned = not self._means and step & (step - 1) == 0 and self._rate_turned(model, now)
        first = step - self._fit_step <= _ALWAYS_FIRST and self._fit_recorded
        if due or first or turned or (worse and waited >= self._pause()):
            self._written_at = now
            self._worse += worse
            self._newest.clear()
            self._context.record(
                LossSeen(
                    step=step,
                    epoch=epoch,
                    logs=self.numbers(logs),
                    learning_rate=self._learning_rate(model, now),
                    step_loss=self._last_step_loss(),
                )
            )
        elif not self._means:
            self._newest.append((step, epoch, self._last_step_loss(), logs))

    def write_newest(self) -> None:
        """When the process ends: the last steps of a loop."""
        for step, epoch, loss, of_step in self._newest:
            logs = {**self.numbers(of_step), "loss": loss} if loss is not None else {}
            rate = self._learning_rate_at[1] if self._learning_rate_at is not None else None
            self._context.record(
                LossSeen(step=step, epoch=epoch, logs=logs, learning_rate=rate, step_loss=loss)
            )
        self._newest.clear()

    def _parts_broken(self, logs: dict[str, float], model: Any) -> None:
        for name in [name for name, value in logs.items() if not math.isfinite(value)]:
            what = "loss" if name == "loss" else ("loss-part" if "loss" in name else "metric")
            if name not in self._recorded and what != "metric":
                self._not_finite(what, name, logs[name], model, exact=False, before=None)
                self._check_due = not self._heartbeat.is_training_thread

    def epoch_done(self, step: int, epoch: int, logs: dict[str, float]) -> None:
        """Backends or verbosities that give no numbers by the batch give them here."""
        loss = logs.get("loss")
        if loss is None:
            return
        self.last_logs = logs
        if not math.isfinite(loss) and "loss" not in self._recorded:
            self._not_finite("loss", "loss", loss, None, exact=False, before=None)

    def _learning_rate(self, model: Any, now: float) -> float | None:
        """The learning rate, read once a second at most: it is a variable of the framework's, or a whole schedule."""
        if self._learning_rate_at is None or now - self._learning_rate_at[0] >= _EVERY_S:
            self._learning_rate_at = now, model_facts.learning_rate(model)
        return self._learning_rate_at[1]

    def _rate_turned(self, model: Any, now: float) -> bool:
        """A loop may be over before a second has passed, and its learning rate long before that."""
        before = self._learning_rate_at[1] if self._learning_rate_at is not None else None
        self._learning_rate_at = None
        rate = self._learning_rate(model, now)
        return before is not None and rate is not None and not 0.5 * before <= rate <= 2.0 * before

    def _interval(self) -> float:
        hours = (self._now() - self._context.started) / 3600
        return _EVERY_S if hours < 1 else min(60.0, _EVERY_S * 10 * hours)

    def _pause(self) -> float:
        """Between two turns for the worse that are written."""
        return 0.1 if self._worse < _WORSE_AT_ONCE else max(_EVERY_S, self._interval() / 10)

    def _remember(self, epoch: int, batch: int, mean: float) -> bool:
        """Keeps the loss; True when it has turned for the worse."""
        last_epoch, last_batch, last = self._last_mean
        own = mean
        self._lost_in_mean = False
        if self._means and epoch == last_epoch and batch > last_batch and math.isfinite(last):
            own = (mean * batch - last * last_batch) / (batch - last_batch)
            rounding = _ROUNDING * abs(mean) * batch / (batch - last_batch)
            self._lost_in_mean = abs(own) < _TIMES_ROUNDING * rounding and abs(own) < _FAR_BELOW * abs(mean)
        self._last_mean = epoch, batch, mean
        self.recent.append(mean)
        if self._lost_in_mean:
            return False
        self.recent_steps.append(own)
        if not math.isfinite(own):
            return True
        self._last_finite = mean
        average = self._average
        if average is None:
            self._average = own
            return False
        self._average = 0.9 * average + 0.1 * own
        worse = abs(own) > _WORSE * abs(average) + 1e-12
        if worse and abs(own) > _JUMP * abs(average) and len(self.recent_steps) > _ORDINARY:
            self._context.inputs.loss_jumped()
        return worse

    def _last_step_loss(self) -> float | None:
        value = self.recent_steps[-1] if self.recent_steps else math.nan
        return round(value, 7) if math.isfinite(value) and not self._lost_in_mean else None

    # -- the first value that is not finite -----------------------------------------------------------

    def _not_finite(
        self,
        what: str,
        name: str,
        value: float,
        model: Any,
        *,
        exact: bool,
        before: bool | None,
        seen: str = "",
    ) -> None:
        self._recorded.add(what if what in ("weights", "gradient") else name)
        heartbeat = self._context.heartbeat
        survey = (
            finiteness.survey(model)
            if model is not None and (exact or heartbeat.is_training_thread)
            else finiteness.FiniteCheck()
        )
        if what == "weights" and survey.weights is not False and not exact:
            return
        name = name or survey.name
        self._context.fits.record_notable(
            NonFiniteSeen(
                what=what,
                name=name,
                step=self._recorded_step or heartbeat.step,
                epoch=heartbeat.epoch,
                value=str(_json(value)),
                last_finite=self._last_finite,
                recent=[_json(loss) for loss in self.recent],
                weights_finite=survey.weights,
                weights_finite_before=before,
                input_finite=finiteness.arrays_finite(self._context.data),
                learning_rate=model_facts.learning_rate(model),
                precision=model_facts.precision(model),
                detail={
                    "recent_steps": [_json(loss) for loss in self.recent_steps],
                    "first_weight": survey.name,
                    "statistics_finite": survey.statistics,
                    "seen": seen or ("at once" if exact else "later"),
                    "loss_scale": model_facts.loss_scale(model),
                },
            ),
        )
        self._context.inputs.search_nonfinite(weights_broken=survey.weights is False)


def _json(value: float) -> float | str:
    if math.isfinite(value):
        return round(value, 7) if abs(value) < 1e6 else value
    return "nan" if math.isnan(value) else ("inf" if value > 0 else "-inf")
