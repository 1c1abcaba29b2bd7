"""What to do when memory does not suffice: a smaller micro-batch, the same batch. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from holdfast.errors import HoldfastError
from holdfast.journal import events as ev
from holdfast.journal.reader import Entry


class OutOfMemory(HoldfastError):
    """Not even one picture at a time fits."""

    slug = "device-memory-exhausted"


def smaller(micro_batch: int, batch: int) -> int | None:
    """The largest divisor of the batch that is at most half of the micro-batch; None below one."""
    fitting = [size for size in range(1, micro_batch // 2 + 1) if batch % size == 0]
    return max(fitting) if fitting else None


def nothing_smaller(step: int, error: BaseException) -> OutOfMemory:
    return OutOfMemory(
        "a single picture at a time does not fit into memory",
        where=f"step {step}",
        found=" ".join(str(error).split())[:300],
        change=["model.input smaller", 'precision = "bfloat16"', "a smaller backbone"],
    )


def said(step: int, before: int, after: int, batch: int) -> str:
    """What was changed, what it costs, and how far results may differ."""
    return (
        f"out of memory at step {step}: the step was undone and runs again with micro-batches of {after} instead of "
        f"{before}; the batch stays {batch}, so results differ by float rounding only, and a step takes somewhat longer"
    )


def after_kill(entries: Sequence[Entry], attempt: int, batch: int) -> tuple[int, int] | None:
    """Micro-batch before and now, when the kernel killed the attempt before this one for its memory.

    The size that was in use is the last one told; when one picture at a time was too much, it stays.
    """
    before = [entry.event for entry in entries if entry.attempt == attempt - 1]
    ended = next((event for event in reversed(before) if isinstance(event, ev.AttemptEnded)), None)
    if ended is None or (ended.oom_kills_after or 0) <= (ended.oom_kills_before or 0):
        return None
    told = [
        event.facts["micro_batch"]
        for event in before
        if isinstance(event, ev.NoteMade) and "micro_batch" in event.facts
    ]
    used = int(told[-1]) if told else batch
    return used, smaller(used, batch) or used
