"""Which losses are written down, and what is made of a value that is not finite."""

from __future__ import annotations

import math
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from holdfast.journal.events import Event, LossSeen, NonFiniteSeen
from holdfast.probe.runtime.heartbeat import Heartbeat
from holdfast.probe.state import finiteness
from holdfast.probe.state.loss_watch import Losses
from holdfast.probe.state.observed_data import ObservedData


class Heard:
    """What a context is to the losses: heartbeat, a place for facts, and somebody who listens."""

    def __init__(self) -> None:
        self.heartbeat = Heartbeat()
        self.fits: Any = SimpleNamespace(current=None, record_notable=self.record)
        self.inputs: Any = SimpleNamespace(
            loss_jumped=lambda: self.asked.append("jump"),
            search_nonfinite=lambda weights_broken: self.asked.append("search"),
        )
        self.data = ObservedData()
        self.started = 0.0
        self.said: list[Event] = []
        self.asked: list[str] = []  # of the inputs

    def record(self, event: Event) -> None:
        self.said.append(event)

    def steps(self) -> list[int]:
        return [event.step for event in self.said if isinstance(event, LossSeen)]


def _losses(now: list[float]) -> tuple[Heard, Losses]:
    heard = Heard()
    return heard, Losses(heard, monotonic=lambda: now[0])  # type: ignore[arg-type]


def test_the_first_twenty_steps_then_one_a_second() -> None:
    now = [0.0]
    heard, losses = _losses(now)
    losses.fit_begins(None)
    for step in range(1, 301):
        now[0] = step * 0.1
        losses.logs_read(step, 0, step, {"loss": 1.0}, None)
    assert heard.steps()[:20] == list(range(1, 21))
    assert heard.steps()[20:23] == [30, 40, 50]
    assert len(heard.steps()) == 20 + 28


def test_a_turn_for_the_worse_is_written_at_once() -> None:
    now = [0.0]
    heard, losses = _losses(now)
    losses.fit_begins(None)
    means = [1.0] * 25 + [(25 * 1.0 + 40.0) / 26]  # the 26th step alone had a loss of 40
    for step, mean in enumerate(means, start=1):
        now[0] = step * 0.1
        losses.logs_read(step, 0, step, {"loss": mean}, None)
    assert heard.steps()[-1] == 26
    last = heard.said[-1]
    assert isinstance(last, LossSeen)
    assert last.step_loss is not None
    assert math.isclose(last.step_loss, 40.0, rel_tol=1e-6)


def test_a_loss_that_a_mean_in_float32_cannot_show_is_not_known() -> None:
    """After a step of 1.5e15 the mean moves by rounding alone, which would be losses of -1e8 and 3e7."""
    heard, losses = _losses([0.0])
    losses.fit_begins(None)
    own = [4.7, 157609.0, 1.5e15, 0.7, 0.7, 0.7, 2e13]
    total = 0.0
    for step, loss in enumerate(own, start=1):
        total += loss
        mean = float(np.float32(total / step))
        losses.logs_read(step, 0, step, {"loss": mean}, None)
    said = [one.step_loss for one in heard.said if isinstance(one, LossSeen)]
    assert said[3:6] == [None, None, None]
    assert said[:3] == pytest.approx(own[:3], rel=1e-3)
    assert said[6] == pytest.approx(2e13, rel=0.1)
    assert len(losses.recent_steps) == 4


def test_the_mean_starts_anew_with_each_epoch() -> None:
    _, losses = _losses([0.0])
    losses.fit_begins(None)
    means = [(0, 1, 4.0), (0, 2, 3.0), (1, 1, 1.0), (1, 2, 1.5), (1, 2, 1.5)]  # the last was had at its step
    for step, (epoch, batch, mean) in enumerate(means, start=1):
        losses.logs_read(step, epoch, batch, {"loss": mean}, None)
    assert list(losses.recent_steps) == [4.0, 2.0, 1.0, 2.0]


def test_the_loss_of_steps_that_were_only_counted_is_their_mean() -> None:
    _, losses = _losses([0.0])
    losses.fit_begins(None)
    losses.logs_read(1, 0, 1, {"loss": 4.0}, None)
    losses.logs_read(5, 0, 5, {"loss": 2.4}, None)  # 12 in all: the four had 8 together
    assert list(losses.recent_steps) == [4.0, 2.0]


def test_a_loss_has_turned_when_it_is_half_or_twice_or_no_number() -> None:
    _, losses = _losses([0.0])
    losses.logs_read(1, 0, 1, {"loss": -2.0}, None)
    turned = [losses.turned({"loss": loss}) for loss in (-2.0, -1.5, 3.9, -0.9, 4.1, math.nan, math.inf)]
    assert turned == [False, False, False, True, True, True, True]
    losses.logs_read(2, 0, 2, {"loss": 0.0}, None)
    assert [losses.turned({"loss": loss}) for loss in (0.0, 1e-9)] == [False, True]


def test_a_loss_that_breaks_is_told_once_with_those_before_it() -> None:
    heard, losses = _losses([0.0])
    losses.fit_begins(None)
    heard.heartbeat.step = 3
    for step, mean in enumerate([1.0, 2.0, math.nan, math.nan], start=1):
        losses.logs_read(step, 0, step, {"loss": mean, "box_loss": 0.5}, None)
    [seen] = [event for event in heard.said if isinstance(event, NonFiniteSeen)]
    assert (seen.what, seen.value, seen.last_finite, seen.recent) == ("loss", "nan", 2.0, [1.0, 2.0, "nan"])


def test_the_part_that_broke_is_named() -> None:
    heard, losses = _losses([0.0])
    losses.fit_begins(None)
    losses.logs_read(
        1, 0, 1, {"loss": math.inf, "box_loss": math.inf, "class_loss": 0.5, "accuracy": math.nan}, None
    )
    told = [(event.what, event.name) for event in heard.said if isinstance(event, NonFiniteSeen)]
    assert told == [("loss", "loss"), ("loss-part", "box_loss")]


def test_a_value_in_host_memory_is_seen_at_the_step_itself() -> None:
    heard, losses = _losses([0.0])
    losses.fit_begins(None)
    losses.step_done(SimpleNamespace(trainable_variables=[]), {"loss": 0.25})
    assert heard.heartbeat.loss == 0.25
    losses.step_done(SimpleNamespace(trainable_variables=[]), {"loss": math.inf})
    [first, seen, second] = heard.said
    assert isinstance(first, LossSeen) and isinstance(second, LossSeen)
    assert isinstance(seen, NonFiniteSeen)
    assert seen.detail["seen"] == "at once"


def test_weights_that_broke_under_a_finite_loss_are_told_at_the_end_of_the_epoch() -> None:
    heard, losses = _losses([0.0])
    whole, broken = np.ones((3, 2), "float32"), np.array([[1.0, np.nan]], "float32")
    losses.fit_begins(None)
    losses.logs_read(1, 0, 1, {"loss": 64.0}, None)
    heard.heartbeat.step = 1
    losses.epoch_over(SimpleNamespace(trainable_variables=[whole]))
    assert not [event for event in heard.said if isinstance(event, NonFiniteSeen)]
    losses.fit_ends(SimpleNamespace(trainable_variables=[whole, broken]))
    [seen] = [event for event in heard.said if isinstance(event, NonFiniteSeen)]
    assert (seen.what, seen.name, seen.last_finite, seen.weights_finite) == (
        "weights",
        "weight 1",
        64.0,
        False,
    )
    assert seen.detail["seen"] == "later"
    assert heard.asked == ["search"]


class Gradient:
    """A value in host memory, as TensorFlow hands it out."""

    device = "/job:localhost/replica:0/task:0/device:CPU:0"
    shape = (2,)

    def __init__(self, *values: float) -> None:
        self._values = np.array(values, "float32")

    def numpy(self) -> np.ndarray:
        return self._values


def test_a_gradient_that_is_not_finite_under_a_finite_loss_is_told_at_its_step() -> None:
    heard, losses = _losses([0.0])
    model = SimpleNamespace(trainable_variables=[])
    losses.loop_step(model, {"loss": 0.5}, Gradient(1.0, 2.0))
    heard.heartbeat.step = 2
    losses.loop_step(model, {"loss": 0.0}, Gradient(math.inf, 0.0))
    [seen] = [event for event in heard.said if isinstance(event, NonFiniteSeen)]
    assert (seen.what, seen.step, seen.last_finite, seen.weights_finite_before) == ("gradient", 2, 0.0, True)


def test_the_gradient_of_a_loss_that_is_itself_broken_says_nothing_more() -> None:
    heard, losses = _losses([0.0])
    losses.loop_step(SimpleNamespace(trainable_variables=[]), {"loss": math.nan}, Gradient(math.nan, 0.0))
    assert [event.what for event in heard.said if isinstance(event, NonFiniteSeen)] == ["loss"]


def test_the_small_gradient_nearest_the_loss_is_looked_at() -> None:
    near, far = Gradient(1.0), Gradient(2.0)
    assert finiteness.small_gradient([far, near, None]) is near
    assert finiteness.small_gradient([None]) is None
    assert finiteness.small_gradient(None) is None


def _written_in_an_hour(loss: Callable[[int], float], hours_before: float) -> int:
    now = [hours_before * 3600]
    heard, losses = _losses(now)
    for step in range(1, 18_001):  # five a second
        now[0] += 0.2
        losses.loop_step(None, {"loss": loss(step)}, None, step)
    return len(heard.steps())


def test_a_loss_that_stays_not_a_number_or_goes_around_zero_is_not_written_at_every_look() -> None:
    around = lambda step: math.sin(step * step)  # noqa: E731
    assert _written_in_an_hour(around, 0.0) <= 20 + 100 + 3600
    for loss in (around, lambda step: math.nan):
        assert 600 <= _written_in_an_hour(loss, 10.0) <= 20 + 100 + 600  # six seconds apart, after ten hours


def test_the_first_turns_for_the_worse_are_written_at_once_after_any_time() -> None:
    now = [36_000.0]
    heard, losses = _losses(now)
    for step in range(1, 2_000):
        now[0] += 0.2
        losses.loop_step(None, {"loss": 50.0 if step % 20 == 0 else 1.0}, None, step)
    assert set(range(40, 1_980, 20)) <= set(heard.steps())


def test_the_first_steps_of_a_fit_that_is_not_told_are_not_written() -> None:
    now = [100.0]
    heard, losses = _losses(now)
    heard.fits.current = SimpleNamespace(deferred=[True])
    losses.fit_begins(None)
    for step in range(1, 11):
        losses.logs_read(step, 0, step, {"loss": 1.0}, None)
    assert heard.steps() == [1]
    heard.fits.current.deferred.clear()
    losses.fit_begins(None)
    for step in range(1, 11):
        losses.logs_read(step, 1, step, {"loss": 1.0}, None)
    assert heard.steps() == [1, *range(1, 11)]


def test_a_learning_rate_that_falls_within_a_second_is_written_where_it_is_seen() -> None:
    now, optimizer = [0.0], SimpleNamespace(learning_rate=0.1)
    heard, losses = _losses(now)
    model = SimpleNamespace(trainable_variables=[], optimizer=optimizer)
    for step in range(1, 301):
        now[0] += 1e-3
        optimizer.learning_rate = 0.1 if step < 50 else 1e-6
        heard.heartbeat.step = step
        losses.loop_step(model, {"loss": 1.0}, None, step)
    late = [one for one in heard.said if isinstance(one, LossSeen) and one.step > 20]
    assert [(one.step, one.learning_rate) for one in late] == [(64, 1e-6)]
