"""The loss and its parts: kept at every step where that costs nothing, written now and then and when it turns bad.

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
from ..inputs import current_batch, nonfinite_search
from ..runtime.context import ProbeContext
from ..state import finiteness, fit_log, model_facts

_KEEP = 64
_ALWAYS_FIRST = 20  # steps of a fit that are always written
_EVERY_S = 1.0  # then one a second, later fewer
_PLAIN = (int, float)
_ORDINARY = 12  # steps that show what is usual
_JUMP = 1e3  # times the loss of late: no step of an optimizer does it, a batch does
_WORSE = 3.0  # times the loss of late: written at once, though not more often than ten times a second
_WORSE_AT_ONCE = 100  # times in a process; a loss that is not a number, or around zero, would be so for ever


class Losses:
    def __init__(self, session: ProbeContext, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._session = session
        self._progress = session.progress
        self._now = monotonic
        self.recent: deque[float] = deque(maxlen=_KEEP)
        self.recent_steps: deque[float] = deque(maxlen=_KEEP)  # each step's own, worked out
        self._average: float | None = None
        self._last_mean = (-1, 0, 0.0)  # epoch, batches of it, mean
        self._written_at = 0.0
        self._rate_at: tuple[float, float | None] | None = None
        self._fit_step = 0
        self._fit_told = True
        self._worse = 0
        self._said: set[str] = set()
        self._means = True  # what is reported is the mean since the epoch began
        self._last_finite: float | None = None
        self.on_cpu: bool | None = None  # whether losses are in host memory: then each is had at its step
        self._owed = (
            False  # another thread saw a loss that is not finite: the weights are to be looked at here
        )
        self._sentinel: finiteness.Sentinel | None = None
        self._review = finiteness.PeriodicFiniteCheck()
        self._step_told: int | None = None  # of losses that come after their step

    # -- called by the thread that trains -----------------------------------------------------------

    def fit_begins(self, model: Any) -> None:
        self._fit_step = self._session.progress.step
        fit = fit_log.of(self._session).current
        self._fit_told = fit is None or not fit.untold
        self._average = None
        self._last_mean = (-1, 0, 0.0)
        self._means = True
        self._rate_at = None
        self.on_cpu = None
        self._sentinel = None
        self._said.clear()
        self.recent.clear()
        self.recent_steps.clear()
        self._last_finite = None

    def fit_ends(self, model: Any) -> None:
        self._sentinel = None
        self._review = finiteness.PeriodicFiniteCheck()
        self.epoch_over(model)

    def epoch_over(self, model: Any) -> None:
        """Weights may be broken under a loss that is still a number."""
        if model is None or not self._session.progress.step or {"loss", "weights"} & self._said:
            return
        found = self._review.look(model, self._now())
        if found is not None and found.weights is False:
            self._not_finite("weights", found.name, math.nan, model, exact=False, before=None)

    def step_done(self, model: Any, logs: Any, step: int | None = None) -> None:
        """Right after a step, in its own thread. Only a value that is in host memory already is looked at."""
        if self._owed:
            self._owed = False
            self._not_finite("weights", "", math.nan, model, exact=False, before=None)
        loss = logs.get("loss") if isinstance(logs, dict) else None
        if loss is None:
            return
        if self.on_cpu is None:
            self.on_cpu = finiteness.in_host_memory(loss)
        if not self.on_cpu:
            return
        progress = self._progress
        self._step_told = step
        progress.loss = value = float(loss)
        if not math.isfinite(value) and "loss" not in self._said:
            before = self._sentinel.last if self._sentinel else None
            self._not_finite("loss", "loss", value, model, exact=True, before=before)
        else:
            self._watch_weights(model, value)
        self._note(step or progress.step, progress.epoch, progress.train_batches, value, logs, model)

    def _watch_weights(self, model: Any, loss: float) -> None:
        if self._sentinel is None:
            self._sentinel = finiteness.Sentinel(model)
        if not self._sentinel.look(self._progress.step_ns, loss) and "weights" not in self._said:
            self._not_finite("weights", self._sentinel.name, math.nan, model, exact=True, before=True)

    def weights_unwatched(self) -> None:
        """Steps were only counted: whether the weights were whole before this one is not known."""
        if self._sentinel is not None:
            self._sentinel.last = None

    def loop_step(
        self, model: Any, logs: dict[str, Any], gradient: Any = None, step: int | None = None
    ) -> None:
        """A step of a loop of the user's own, this one or one of late: every number is of this step alone."""
        known = {name: float(value) for name, value in logs.items()}
        self._means = False
        self._step_told = step
        if (
            gradient is not None
            and "gradient" not in self._said
            and math.isfinite(known.get("loss", math.nan))
        ):
            self._watch_gradient(gradient, known["loss"], model)
        if "loss" not in known:
            return
        self.on_cpu = True
        self.step_done(model, known, step)

    def _watch_gradient(self, gradient: Any, loss: float, model: Any) -> None:
        """The gradient of a loss that is a number itself."""
        if not finiteness.all_finite(finiteness.reader(gradient)()):
            self._last_finite = loss
            self._not_finite("gradient", "", math.nan, model, exact=True, before=True)

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
        """Whether the loss is unlike the last one that was looked at."""
        loss = logs.get("loss") if type(logs) is dict else None
        last = self._last_mean[2]
        return not (
            isinstance(loss, _PLAIN) and (loss == last or 0.5 < abs(loss) / (abs(last) or 1e-30) < 2.0)
        )

    def logs_had(self, step: int, epoch: int, batch: int, logs: dict[str, float], model: Any) -> None:
        """`batch`: how many of the epoch are done."""
        loss = logs.get("loss")
        last_epoch, last_batch, _ = self._last_mean
        if loss is not None and (epoch != last_epoch or batch > last_batch):  # else it was had at its step
            self._progress.loss = loss
            self._step_told = step
            self._note(step, epoch, batch, loss, logs, model)

    def _note(self, step: int, epoch: int, batch: int, loss: float, logs: dict[str, Any], model: Any) -> None:
        self._session.seen["last_logs"] = logs
        worse = self._remember(epoch, batch, loss)
        if not math.isfinite(loss):
            self._parts_broken(self.numbers(logs), model)
        now = self._now()
        waited = now - self._written_at
        due = waited >= _EVERY_S and waited >= self._interval()
        first = step - self._fit_step <= _ALWAYS_FIRST and self._fit_told
        if due or first or (worse and waited >= self._pause()):
            self._written_at = now
            self._worse += worse
            self._session.say(
                LossSeen(
                    step=step,
                    epoch=epoch,
                    logs=self.numbers(logs),
                    learning_rate=self._rate(model, now),
                    step_loss=self._last_step_loss(),
                )
            )

    def _parts_broken(self, logs: dict[str, float], model: Any) -> None:
        for name in [name for name, value in logs.items() if not math.isfinite(value)]:
            what = "loss" if name == "loss" else ("loss-part" if "loss" in name else "metric")
            if name not in self._said and what != "metric":
                self._not_finite(what, name, logs[name], model, exact=False, before=None)
                self._owed = not self._progress.here

    def epoch_done(self, step: int, epoch: int, logs: dict[str, float]) -> None:
        """Backends or verbosities that give no numbers by the batch give them here."""
        loss = logs.get("loss")
        if loss is None:
            return
        self._session.seen["last_logs"] = logs
        if not math.isfinite(loss) and "loss" not in self._said:
            self._not_finite("loss", "loss", loss, None, exact=False, before=None)

    def _rate(self, model: Any, now: float) -> float | None:
        """The learning rate, read once a second at most: it is a variable of the framework's, or a whole schedule."""
        if self._rate_at is None or now - self._rate_at[0] >= _EVERY_S:
            self._rate_at = now, model_facts.learning_rate(model)
        return self._rate_at[1]

    def _interval(self) -> float:
        hours = (self._now() - self._session.started) / 3600
        return _EVERY_S if hours < 1 else min(60.0, _EVERY_S * 10 * hours)

    def _pause(self) -> float:
        """Between two turns for the worse that are written."""
        return 0.1 if self._worse < _WORSE_AT_ONCE else max(_EVERY_S, self._interval() / 10)

    def _remember(self, epoch: int, batch: int, mean: float) -> bool:
        """Keeps the loss; True when it has turned for the worse."""
        last_epoch, last_batch, last = self._last_mean
        own = mean
        if self._means and epoch == last_epoch and batch > last_batch and math.isfinite(last):
            own = (mean * batch - last * last_batch) / (batch - last_batch)
        self._last_mean = epoch, batch, mean
        self.recent.append(mean)
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
            self._session.guard(current_batch.PART, current_batch.loss_jumped, self._session)
        return worse

    def _last_step_loss(self) -> float | None:
        value = self.recent_steps[-1] if self.recent_steps else math.nan
        return round(value, 7) if math.isfinite(value) else None

    # -- the first value that is not finite -----------------------------------------------------------

    def _not_finite(
        self, what: str, name: str, value: float, model: Any, *, exact: bool, before: bool | None
    ) -> None:
        self._said.add(what if what in ("weights", "gradient") else name)
        progress = self._session.progress
        survey = (
            finiteness.survey(model)
            if model is not None and (exact or progress.here)
            else finiteness.FiniteCheck()
        )
        if what == "weights" and survey.weights is not False and not exact:
            return
        name = name or survey.name
        fit_log.say_notable(
            self._session,
            NonFiniteSeen(
                what=what,
                name=name,
                step=self._step_told or progress.step,
                epoch=progress.epoch,
                value=str(_json(value)),
                last_finite=self._last_finite,
                recent=[_json(loss) for loss in self.recent],
                weights_finite=survey.weights,
                weights_finite_before=before,
                input_finite=finiteness.arrays_finite(self._session),
                learning_rate=model_facts.learning_rate(model),
                precision=model_facts.precision(model),
                detail={
                    "recent_steps": [_json(loss) for loss in self.recent_steps],
                    "first_weight": survey.name,
                    "statistics_finite": survey.statistics,
                    "seen": "at once" if exact else "later",
                    "loss_scale": model_facts.loss_scale(model),
                },
            ),
        )
        self._session.guard(
            nonfinite_search.PART, nonfinite_search.look, self._session, survey.weights is False
        )


def of(session: ProbeContext) -> Losses:
    found = session.seen.get("losses")
    if found is None:
        found = session.seen["losses"] = Losses(session)
    return found


def _json(value: float) -> float | str:
    if math.isfinite(value):
        return round(value, 7) if abs(value) < 1e6 else value
    return "nan" if math.isnan(value) else ("inf" if value > 0 else "-inf")
