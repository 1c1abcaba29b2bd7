"""How memory ended a run: refused by the host, refused by a GPU, or not at all."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.explain.gather import gather
from holdfast.explain.readings.memory import MemoryEnd, gpu_refused, memory_end, refused_memory
from tests.explain.made import Run

_CUDA = "CUDA out of memory. Tried to allocate 32.00 GiB. GPU 0 has a total capacity of 139.80 GiB, 9.17 GiB is free."


@pytest.mark.parametrize(
    ("kind", "message", "end", "by_gpu"),
    [
        ("OutOfMemoryError", _CUDA, MemoryEnd.NO, True),  # torch: its name ends like the host's MemoryError
        (
            "MemoryError",
            "Unable to allocate 7.45 GiB for an array with shape (1000,)",
            MemoryEnd.REFUSED,
            False,
        ),
        ("MemoryError", "std::bad_alloc", MemoryEnd.REFUSED, False),
    ],
)
def test_a_gpu_that_refuses_memory_is_not_the_host(
    tmp_path: Path, kind: str, message: str, end: MemoryEnd, by_gpu: bool
) -> None:
    run = Run(tmp_path / "run")
    run.raised(kind, message)
    evidence = gather(run.path, now=0.0)
    assert memory_end(evidence) is end
    assert (gpu_refused(evidence) is not None) == by_gpu
    assert (refused_memory(evidence) is not None) == (end is MemoryEnd.REFUSED)
