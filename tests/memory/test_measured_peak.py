"""The measured peak, compared with the predicted one."""

from __future__ import annotations

import pytest

from holdfast.journal import events as ev
from holdfast.memory.measured_peak import MeasuredPeak, MemoryObserver, comparison_text

from .planned import GIB, planned


def observe(peak, plan):
    events, records = [], []
    observer = MemoryObserver(
        plan if callable(plan) else lambda: plan,
        "jax",
        events.append,
        measure=lambda backend: peak,
        record=records.append,
    )
    for step in range(1, 6):
        observer.notify(ev.LossSeen(step=step))
    return events, records


def test_a_prediction_that_comes_later_is_compared_with_the_peak_of_the_first_steps():
    answers = iter([None, None, None, planned()])  # made while the fourth step ran
    peaks = iter([MeasuredPeak(int(5.1 * GIB), "card", 8 * GIB)])  # measured once, or this ends
    events, records = [], []
    observer = MemoryObserver(
        lambda: next(answers),
        "jax",
        events.append,
        measure=lambda backend: next(peaks),
        record=records.append,
    )
    for step in range(1, 4):
        observer.notify(ev.LossSeen(step=step))
    assert events == []
    observer.notify(ev.LossSeen(step=4))
    observer.notify(ev.LossSeen(step=5))
    assert [(event.measured_bytes, event.predicted_bytes) for event in events] == [(int(5.1 * GIB), 5 * GIB)]
    assert len(records) == 1


def test_reported_and_recorded_once_after_the_third_step():
    events, records = observe(MeasuredPeak(int(5.1 * GIB), "card", 8 * GIB), planned())
    assert len(events) == 1
    assert comparison_text(events[0]) == (
        "the first steps took 5.10 GiB of GPU memory at the peak; predicted: 5.00 GiB (+2.0%)"
    )
    assert events[0].predicted_bytes == 5 * GIB
    assert records[0].excess_bytes == pytest.approx(0.1 * GIB, abs=2)


def test_the_autotuner_of_a_first_compilation_is_not_recorded():
    events, records = observe(MeasuredPeak(20 * GIB, "card"), planned())
    assert records == []
    assert comparison_text(events[0]).endswith("including the autotuner of a first compilation: not recorded")


def test_on_a_cpu_there_is_no_prediction():
    events, records = observe(MeasuredPeak(2 * GIB, "host"), planned(limit=None))
    assert comparison_text(events[0]) == "the first steps took 2.00 GiB of host memory at the peak"
    assert records == []
