"""The plan that is made while the step compiles: what is known when, from events and never from times."""

from __future__ import annotations

import threading

import pytest

from holdfast.errors import HoldfastError
from holdfast.memory.background_plan import BackgroundPlan

from .planned import planned


def test_the_micro_batch_is_known_before_the_prediction_is_exact():
    exact, finished, made = threading.Event(), threading.Event(), []

    def make(certain):
        certain(16)
        assert exact.wait(600)
        return planned(batch=16, micro_batch="auto")

    plan = BackgroundPlan(make, lambda done: (made.append(done), finished.set()))
    assert plan.micro_batch() == 16
    assert plan.plan is None
    exact.set()
    assert finished.wait(600)
    assert plan.plan is made[0]
    assert plan.micro_batch() == 16  # decided once: the step is compiled for it


def test_without_a_sure_answer_it_waits_for_the_search():
    assert BackgroundPlan(lambda certain: planned()).micro_batch() == 8


def test_nothing_planned_is_none():
    assert BackgroundPlan(lambda certain: planned(limit=None)).micro_batch() is None


def test_an_error_reaches_whoever_waits():
    def make(certain):
        raise HoldfastError("the plan broke")

    with pytest.raises(HoldfastError, match="the plan broke"):
        BackgroundPlan(make).micro_batch()
