"""Every reason for a limit, and every kind of stall, has a sentence."""

from __future__ import annotations

import math

import pytest

from holdfast.journal.events import Stalled
from holdfast.supervise.stall.endless_loops import EndlessPass, EndlessReason
from holdfast.supervise.stall.judgement import StallJudgement, StallKind
from holdfast.supervise.stall.phase_limits import LimitBasis, LimitReason, PhaseGroup
from holdfast.supervise.stall.stall_text import (
    describe_stall,
    endless_line,
    endless_reason,
    limit_from,
    limit_text,
    recovery_line,
)

ENDLESS = EndlessPass("validation", 500, EndlessReason.LONGER_VALIDATION, 100, for_s=75.0)


@pytest.mark.parametrize("reason", LimitReason)
def test_every_reason_for_a_limit_has_a_sentence(reason: LimitReason) -> None:
    assert limit_text(LimitBasis(reason, 1.5, 12)) and "{" not in limit_text(LimitBasis(reason, 1.5, 12))


@pytest.mark.parametrize("reason", EndlessReason)
def test_every_reason_for_an_endless_pass_has_a_sentence(reason: EndlessReason) -> None:
    text = endless_reason(EndlessPass("epoch", 9, reason, 3, "while `x`", math.nan))
    assert text and "{" not in text


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        (StallKind.IDLE, "three times the longest normal step of 2 s, less a second to notice"),
        (
            StallKind.BUSY,
            "busy all the time without a beat; three times the longest normal step of 2 s, less a second to notice",
        ),
        (StallKind.BUSY_FLAT, "busy, but no batch comes and memory does not grow"),
        (
            StallKind.FILTERING,
            "busy: the dataset's filter was given 300,000 elements and let none through",
        ),
        (StallKind.SUSPENDED, "the process is suspended"),
        (
            StallKind.ENDLESS_VALIDATION,
            "the validation may never end: the longest before had 100 batches",
        ),
    ],
)
def test_every_kind_of_stall_says_which_limit_was_exceeded(kind: StallKind, text: str) -> None:
    basis = LimitBasis(LimitReason.LONGEST_STEP, 2.0)
    judgement = StallJudgement(kind, True, PhaseGroup.STEP, 9.0, 5.0, basis, filtered_elements=300_000)
    assert limit_from(judgement, ENDLESS if kind is StallKind.ENDLESS_VALIDATION else None) == text


def test_a_stall_is_described_by_its_place_and_its_limit() -> None:
    event = Stalled(
        phase="callback",
        callback="Upload",
        step=119,
        epoch=2,
        silent_for_s=30.04,
        limit_s=30.0,
        limit_from="why",
    )
    assert (
        describe_stall(event)
        == "phase callback Upload, after step 119, epoch 3: nothing moved for 30 s (limit 30 s: why)"
    )
    assert describe_stall(Stalled(limit_from="the process is suspended")) == (
        "seen from outside: the process is suspended"
    )


def test_the_lines_on_the_screen() -> None:
    assert recovery_line(75.0) == "holdfast: the command moves again, after 1 min 15 s"
    assert endless_line(ENDLESS) == (
        "holdfast: this validation may never end: 500 batches in 1 min 15 s; the longest before had 100 batches"
    )
