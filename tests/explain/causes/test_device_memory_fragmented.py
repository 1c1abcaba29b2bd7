"""Free GPU memory that is not in one block, by the statistics of TensorFlow's and torch's allocators."""

from __future__ import annotations

from pathlib import Path

from holdfast.explain import Strength
from tests.explain.causes.test_device_memory_exhausted import TENSORFLOW, TORCH
from tests.explain.made import GIB, MIB, Run, facts


def _refused(run: Run, in_use: int) -> None:
    run.output(
        "2026-01-01 10:00:00.1: W bfc_allocator.cc: Allocator (GPU_0_bfc) ran out of memory trying to "
        f"allocate 34.00MiB\nLimit:             15000000000\nInUse:             {in_use}\n"
    )
    run.raised("ResourceExhaustedError", TENSORFLOW)


def example(run: Run) -> None:
    _refused(run, 9000000000)


def near_miss(run: Run) -> None:
    _refused(run, 14990000000)


def test_tensorflows_allocator(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    example(run)
    first = run.first()
    assert first.title.values == {"requested_bytes": 34 * MIB, "free_bytes": 6_000_000_000}
    assert facts(first)["gpu.allocator"]["used_bytes"] == 9_000_000_000
    assert first.remedies[0].values == {"torch": False}
    assert first.led_to == "device-memory-exhausted"


def test_torchs_allocator(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    run.raised("OutOfMemoryError", TORCH.format(used="60.00 GiB", idle="70.00 GiB"))
    first = run.first()
    assert (first.cause, first.strength) == ("device-memory-fragmented", Strength.SUPPORTED)
    assert first.title.values == {"requested_bytes": 32 * GIB, "free_bytes": 70 * GIB}
    assert first.remedies[0].values == {"torch": True}
