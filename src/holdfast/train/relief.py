"""What to do when memory does not suffice: a smaller micro-batch, the same batch. Pure."""

from __future__ import annotations

from holdfast.errors import HoldfastError


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
