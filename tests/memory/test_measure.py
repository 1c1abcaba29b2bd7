"""The measured peak beside the predicted one, and the micro-batch that training takes."""

from __future__ import annotations

from dataclasses import replace

import pytest

from holdfast.errors import HoldfastError
from holdfast.journal import events as ev
from holdfast.memory import choose_micro_batch
from holdfast.memory.breakdown import METHODS, MemoryBreakdown, MemoryItem
from holdfast.memory.measured_peak import DeviceLimit, MeasuredPeak, MemoryObserver, comparison_text
from holdfast.settings import resolve

GIB = 2**30
ROOM = DeviceLimit("NVIDIA H200", 8 * GIB)


def recipe(**train):
    return resolve({"data": {"train": "there"}, "train": {"batch": 16, "backend": "jax", **train}}, [])


def price(setup, sizes):
    """A gigabyte, and half of one for each picture; more for what lies outside the allocator's pool."""
    sure = replace(METHODS["compiled"], low=1.0, high=1.0, more_bytes=0)
    totals = [GIB + size * GIB // 2 for size in sizes]
    return [MemoryBreakdown((MemoryItem("all", total, "counted"),), sure, total, 5 * GIB) for total in totals]


def planned(room=ROOM, price=price, **train):
    return choose_micro_batch.plan_for_training(recipe(**train), classes=3, boxes=9, room=room, price=price)


def test_auto_takes_the_largest_micro_batch_that_fits_the_pool():
    made = planned()
    assert (made.micro_batch, made.predicted_bytes) == (
        8,
        5 * GIB,
    )  # the context lies outside and is not counted again
    assert made.said == (
        "micro-batches of 8 will take 5.00 GiB of 8.00 GiB on the NVIDIA H200, by compiled for the card ahead of time"
    )


def test_a_number_stays_and_is_predicted_all_the_same():
    made = planned(micro_batch=4)
    assert (made.micro_batch, made.predicted_bytes) == (None, 3 * GIB)


def test_without_a_card_nothing_is_planned_and_nothing_said():
    made = planned(room=None)
    assert (made.micro_batch, made.predicted_bytes, made.said) == (None, None, "")


def test_a_prediction_that_cannot_be_made_never_stops_a_run():
    def broken(setup, sizes):
        raise HoldfastError("jax is not installed")

    made = planned(price=broken)
    assert made.micro_batch is None
    assert made.said == "the memory of a step was not predicted: jax is not installed"


def witness(found, made):
    said, kept = [], []
    one = MemoryObserver(made, "jax", said.append, look=lambda backend: found, remember=kept.append)
    for step in range(1, 6):
        one.say(ev.LossSeen(step=step))
    return said, kept


def test_told_once_after_the_third_step_and_learned_from():
    said, kept = witness(MeasuredPeak(int(5.1 * GIB), "card", 8 * GIB), planned())
    assert len(said) == 1
    assert comparison_text(said[0]) == (
        "the first steps took 5.10 GiB of the card's memory at the highest; predicted were 5.00 GiB (+2.0%)"
    )
    assert said[0].predicted_bytes == 5 * GIB
    assert kept[0].excess_bytes == pytest.approx(0.1 * GIB, abs=2)


def test_the_autotuner_of_a_first_compilation_teaches_nothing():
    said, kept = witness(MeasuredPeak(20 * GIB, "card"), planned())
    assert kept == []
    assert comparison_text(said[0]).endswith(
        "with the autotuner of a first compilation in it: not learned from"
    )


def test_on_a_processor_the_peak_stands_alone():
    said, kept = witness(MeasuredPeak(2 * GIB, "host"), planned(room=None))
    assert comparison_text(said[0]) == "the first steps took 2.00 GiB of the host's memory at the highest"
    assert kept == []
