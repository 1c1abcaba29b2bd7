"""Passes without an end, judged by their counters."""

from __future__ import annotations

from dataclasses import replace

from holdfast.journal.beats import Beat, Phase
from holdfast.supervise.stall.endless_loops import (
    BestLoss,
    PassProgress,
    judge_epoch,
    judge_loop,
    judge_validation,
)
from holdfast.supervise.stall.stall_text import endless_reason

BEAT = Beat(
    sequence=1, mono=0.0, phase=Phase.VALIDATION, attempt=1, pid=1, callback_index=0, fit=1, epoch=0, step=20,
    train_batches=20, test_batches=500, data_wait_ns=0, compute_ns=0, loss=0.0, has_loss=True, step_ns=0,
)  # fmt: skip
PASS = PassProgress(beat=BEAT, for_s=20.0, epoch_took_s=5.0)


def test_a_dataset_without_an_end_is_certain_after_ten_seconds() -> None:
    found = judge_validation(replace(PASS, endless_data=True))
    assert found is not None and found.sure
    assert endless_reason(found) == "its dataset has no end, and no number of steps was given"
    assert judge_validation(replace(PASS, endless_data=True, for_s=5.0)) is None


def test_a_planned_validation_is_endless_only_beyond_its_plan() -> None:
    assert judge_validation(replace(PASS, planned=500, endless_data=True, for_s=900)) is None
    found = judge_validation(replace(PASS, planned=400))
    assert found is not None and endless_reason(found) == "400 batches were planned"


def test_a_validation_of_unknown_size_is_measured_by_those_before() -> None:
    assert judge_validation(replace(PASS, for_s=120, longest_before=400)) is None
    found = judge_validation(replace(PASS, for_s=120, longest_before=100))
    assert (
        found is not None and not found.sure and endless_reason(found) == "the longest before had 100 batches"
    )


def test_a_first_validation_of_unknown_size_is_measured_by_the_epoch() -> None:
    assert judge_validation(replace(PASS, for_s=30)) is None
    found = judge_validation(replace(PASS, for_s=90))
    assert found is not None and endless_reason(found) == "the whole epoch had 20 batches of training"
    assert judge_validation(replace(PASS, for_s=90, epoch_took_s=60)) is None


def test_an_epoch_over_a_dataset_without_an_end() -> None:
    training = BEAT._replace(phase=Phase.STEP, train_batches=300, test_batches=0)
    found = judge_epoch(replace(PASS, beat=training, endless_data=True))
    assert found is not None and found.sure and found.what == "epoch"
    assert judge_epoch(replace(PASS, beat=training, endless_data=True, planned=1000)) is None
    assert judge_epoch(replace(PASS, beat=training, for_s=9999)) is None


def test_a_loop_that_comes_no_nearer_to_its_end_is_told_after_a_minute() -> None:
    best = BestLoss()
    for second in range(100):
        loss = max(0.25, 1.0 - 0.05 * second) + 0.001 * (second % 3)
        best.update(BEAT._replace(step=20 * second + 1, loss=loss), float(second))
    assert judge_loop(best, "while `loss > 0.1` (train.py:5)", step=900, now=44.0) is None
    found = judge_loop(best, "while `loss > 0.1` (train.py:5)", step=1981, now=99.0)
    assert found is not None and found.what == "loop" and not found.sure
    assert endless_reason(found) == (
        "it runs while `loss > 0.1` (train.py:5), and the loss has not improved on 0.25 since step 301"
    )
    assert judge_loop(best, "", step=1981, now=99.0) is None


def test_a_loop_whose_loss_still_falls_is_left_alone() -> None:
    best = BestLoss()
    for second in range(200):
        best.update(BEAT._replace(step=20 * second + 1, loss=0.98**second), float(second))
    assert judge_loop(best, "while `loss > 0.1` (train.py:5)", step=4000, now=200.0) is None


def test_a_validation_planned_beyond_the_whole_training_is_told_while_it_runs() -> None:
    """In samples instead of batches, of data that repeats."""
    planned = replace(PASS, for_s=90, planned=6400, planned_training=200, endless_data=True)
    found = judge_validation(planned)
    assert found is not None and not found.sure
    assert endless_reason(found) == "6400 are planned, more than the whole training has"
    assert judge_validation(replace(planned, for_s=30)) is None
    assert judge_validation(replace(planned, epoch_took_s=60)) is None
    assert judge_validation(replace(planned, endless_data=False)) is None
    assert judge_validation(replace(planned, planned_training=10_000)) is None
