"""After running out of memory: a smaller micro-batch, the same batch. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from holdfast.errors import HoldfastError
from holdfast.journal import events as ev
from holdfast.journal.reader import Entry


class OutOfMemory(HoldfastError):
    """Not even one image at a time fits."""

    slug = "device-memory-exhausted"


def smaller_micro_batch(micro_batch: int, batch: int) -> int | None:
    """The largest divisor of the batch that is at most half of the micro-batch; None below one."""
    fitting = [size for size in range(1, micro_batch // 2 + 1) if batch % size == 0]
    return max(fitting) if fitting else None


def out_of_memory_error(where: str, error: BaseException) -> OutOfMemory:
    return OutOfMemory(
        "a micro-batch of one image does not fit into memory",
        where=where,
        found=" ".join(str(error).split())[:300],
        change=["a smaller model.input", 'train.precision = "bfloat16"', "a smaller backbone"],
    )


def micro_batch_after_kill(entries: Sequence[Entry], attempt: int, batch: int) -> tuple[int, int] | None:
    """Micro-batch before and now, when the attempt before this one ran out of memory: killed by the kernel, or by a
    refused allocation.

    The size in use is the last one recorded. A second such end in a row quarters it, a third divides it by eight, so
    that the few restarts of a run are enough. It is never below one image.
    """
    in_a_row = 0
    while attempt - 1 - in_a_row >= 1 and _ran_out(_events_of_attempt(entries, attempt - 1 - in_a_row)):
        in_a_row += 1
    if not in_a_row:
        return None
    used = now = last_micro_batch([entry for entry in entries if entry.attempt == attempt - 1]) or batch
    for _ in range(in_a_row):
        now = smaller_micro_batch(now, batch) or now
    return used, now


def last_micro_batch(entries: Sequence[Entry]) -> int | None:
    """The last micro-batch that was recorded."""
    sizes = [entry.event.micro_batch for entry in entries if isinstance(entry.event, ev.MicroBatchSet)]
    return sizes[-1] if sizes else None


def ran_out_of_memory(entries: Sequence[Entry]) -> bool:
    """Whether any attempt of this run ran out of memory. From then on no images are cached."""
    return any(
        _ran_out(_events_of_attempt(entries, attempt)) for attempt in {entry.attempt for entry in entries}
    )


def _events_of_attempt(entries: Sequence[Entry], attempt: int) -> list[ev.Event]:
    return [entry.event for entry in entries if entry.attempt == attempt]


def _ran_out(events: Sequence[ev.Event]) -> bool:
    ended = next((event for event in reversed(events) if isinstance(event, ev.AttemptEnded)), None)
    if ended is None:
        return False
    if (ended.oom_kills_after or 0) > (ended.oom_kills_before or 0):
        return True
    raised = next((event for event in reversed(events) if isinstance(event, ev.ExceptionRaised)), None)
    return raised is not None and is_out_of_memory_text(f"{raised.type}: {raised.message}")


def is_out_of_memory_text(text: str) -> bool:
    """Whether an error message is that of a refused allocation, by TensorFlow, XLA or Python."""
    return any(sign in text for sign in OUT_OF_MEMORY_TEXTS)


OUT_OF_MEMORY_TEXTS = (
    "MemoryError",
    "ResourceExhaustedError",
    "RESOURCE_EXHAUSTED",
    "OOM when allocating",
    "Out of memory",
)
