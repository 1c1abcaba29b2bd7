"""What signals mean for the command, and how long a request to end counts."""

from __future__ import annotations

import signal

import pytest

from holdfast.supervise.signal_policy import EndRequest, InterruptCounter, Response, respond, still_counts


@pytest.mark.parametrize(
    "by,after_s,batches,counts",
    [
        ("interrupt", 9.0, 80, True),  # steps are still done, but it may be finishing an epoch
        ("interrupt", 11.0, 110, False),  # it trains on: the signal was handled
        ("hangup", 11.0, 110, False),
        ("interrupt", 200.0, 40, True),  # no batch since: it saves
        ("interrupt", 400.0, 40, False),
        ("terminate", 50.0, 500, True),  # a scheduler's signal, and an epoch that is finished first
        ("terminate", 61.0, 600, False),
        ("interrupt", 50.0, None, True),  # nothing beats, so that nobody can tell
        ("interrupt", 61.0, None, False),
        ("stall", 900.0, 4000, True),  # our own, which is followed by SIGKILL
    ],
)
def test_a_signal_counts_until_it_is_seen_to_have_been_handled(
    by: str, after_s: float, batches: int | None, counts: bool
) -> None:
    request = EndRequest(by, at=1000.0)
    request = request.updated(now=1000.0, batches=None if batches is None else 40)
    request = request.updated(
        now=1000.0 + after_s - 0.5, batches=None if batches is None else max(40, batches - 5)
    )
    request = request.updated(now=1000.0 + after_s, batches=batches)
    assert still_counts(request, now=1000.0 + after_s) is counts


def test_a_step_that_was_under_way_at_the_signal_is_no_sign_of_going_on() -> None:
    request = EndRequest("interrupt", at=0.0).updated(now=0.0, batches=40).updated(now=2.0, batches=41)
    assert still_counts(request.updated(now=30.0, batches=41), now=30.0)


def test_two_interrupts_far_apart_are_two_first_ones() -> None:
    count = InterruptCounter()
    assert [count.add(now) for now in (100.0, 111.0, 119.0, 140.0, 141.0, 142.0)] == [1, 1, 2, 1, 2, 3]


def test_the_first_interrupt_is_forwarded_and_the_second_kills() -> None:
    assert respond(signal.SIGINT, interrupts=1) is Response.TO_GROUP
    assert respond(signal.SIGINT, interrupts=2) is Response.KILL
    assert respond(signal.SIGTERM, interrupts=2) is Response.TO_COMMAND
    assert respond(signal.SIGHUP, interrupts=0) is Response.TO_GROUP
    assert respond(signal.SIGTSTP, interrupts=0) is Response.SUSPEND
