"""After running out of memory: a smaller micro-batch, and what counts as such an end."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from holdfast.journal import events as ev
from holdfast.journal.reader import Entry
from holdfast.report.text import render_error
from holdfast.step import out_of_memory


@pytest.mark.parametrize(
    ("micro", "batch", "expected"),
    [(16, 16, 8), (8, 16, 4), (2, 16, 1), (1, 16, None), (6, 6, 3), (3, 6, 1), (9, 9, 3)],
)
def test_the_next_smaller_micro_batch_divides_the_batch(micro: int, batch: int, expected: int | None) -> None:
    assert out_of_memory.smaller_micro_batch(micro, batch) == expected


def entry(event: ev.Event, attempt: int) -> Entry:
    return Entry(line=1, at=0, mono=0, by="trainer", pid=1, attempt=attempt, event=event)


def killed(before: int | None, after: int | None, attempt: int) -> Entry:
    return entry(ev.AttemptEnded(signal="SIGKILL", oom_kills_before=before, oom_kills_after=after), attempt)


def test_after_a_kill_for_memory_the_micro_batch_in_use_is_halved() -> None:
    told = entry(ev.MicroBatchSet(micro_batch=8), 1)
    assert out_of_memory.micro_batch_after_kill([told, killed(0, 1, 1)], 2, 16) == (8, 4)
    assert out_of_memory.micro_batch_after_kill([killed(0, 1, 1)], 2, 16) == (16, 8)
    assert out_of_memory.micro_batch_after_kill([told, killed(2, 2, 1)], 2, 16) is None, (
        "a kill that no counter speaks of is no such kill"
    )
    assert out_of_memory.micro_batch_after_kill([told, killed(None, None, 1)], 2, 16) is None
    assert out_of_memory.micro_batch_after_kill([told, killed(0, 1, 1)], 3, 16) is None, (
        "the attempt in between ended otherwise"
    )
    one = entry(ev.MicroBatchSet(micro_batch=1), 1)
    assert out_of_memory.micro_batch_after_kill([one, killed(0, 1, 1)], 2, 16) == (1, 1)


def test_a_second_end_for_memory_in_a_row_takes_a_larger_step() -> None:
    first = [entry(ev.MicroBatchSet(micro_batch=16), 1), killed(0, 1, 1)]
    second = [entry(ev.MicroBatchSet(micro_batch=8), 2), killed(1, 2, 2)]
    third = [entry(ev.MicroBatchSet(micro_batch=2), 3), killed(2, 3, 3)]
    assert out_of_memory.micro_batch_after_kill([*first, *second], 3, 16) == (8, 2)
    assert out_of_memory.micro_batch_after_kill([*first, *second, *third], 4, 16) == (2, 1)


def test_an_allocation_refused_outside_of_a_step_counts_as_an_end_for_memory() -> None:
    refused = [
        entry(ev.ExceptionRaised(type="ResourceExhaustedError", message="OOM when allocating tensor"), 1),
        entry(ev.AttemptEnded(exit_code=70), 1),
    ]
    assert out_of_memory.micro_batch_after_kill(refused, 2, 16) == (16, 8)
    assert out_of_memory.ran_out_of_memory(refused)
    other = [
        entry(ev.ExceptionRaised(type="ValueError", message="no"), 1),
        entry(ev.AttemptEnded(exit_code=70), 1),
    ]
    assert out_of_memory.micro_batch_after_kill(other, 2, 16) is None
    assert not out_of_memory.ran_out_of_memory(other)


def test_the_error_reads_well(stored: Callable[[str, str], None]) -> None:
    error = out_of_memory.out_of_memory_error("step 7", MemoryError("OOM when allocating"))
    stored("train/one-image-does-not-fit", render_error(error))
