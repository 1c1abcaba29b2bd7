"""Memory of the device: for each cause a run that has it and one that only looks like it."""

from __future__ import annotations

from holdfast.journal import events as ev
from tests.explain.causes import test_memory_refused
from tests.explain.made import GIB, MIB, Run, growing, pipeline

_CARD = {"name": "NVIDIA H200", "total_bytes": 140 * GIB}
_OOM = (
    "OOM when allocating tensor with shape[64,512,512,256] and type float on /job:localhost/replica:0/task:0/"
    "device:GPU:0 by allocator GPU_0_bfc [Op:Conv2D]"
)


def device_memory_exhausted(run: Run) -> None:
    run.raised("ResourceExhaustedError", "Graph execution error:\n\n" + _OOM)


def near_device_memory_exhausted(run: Run) -> None:
    test_memory_refused.example(run)


def device_memory_held_by_others(run: Run) -> None:
    holder = {"pid": 812, "name": "python", "bytes": 120 * GIB}
    run.supervisor(ev.MachineRead(gpus=[{**_CARD, "used_bytes": 121 * GIB, "processes": [holder]}]))
    run.raised("ResourceExhaustedError", _OOM)


def near_device_memory_held_by_others(run: Run) -> None:
    run.supervisor(ev.MachineRead(gpus=[{**_CARD, "used_bytes": 0, "processes": []}]))
    run.raised("ResourceExhaustedError", _OOM)


def device_memory_fragmented(run: Run) -> None:
    run.output(
        "2026-01-01 10:00:00.1: W bfc_allocator.cc: Allocator (GPU_0_bfc) ran out of memory trying to "
        "allocate 34.00MiB\n"
        "Limit:             15000000000\nInUse:              9000000000\n"
    )
    run.raised("ResourceExhaustedError", _OOM)


def near_device_memory_fragmented(run: Run) -> None:
    run.output(
        "2026-01-01 10:00:00.1: W bfc_allocator.cc: Allocator (GPU_0_bfc) ran out of memory trying to "
        "allocate 34.00MiB\n"
        "Limit:             15000000000\nInUse:             14990000000\n"
    )
    run.raised("ResourceExhaustedError", _OOM)


def larger_sample_than_before(run: Run) -> None:
    run.fit(
        data=pipeline({"op": "generator"}, element_spec=[[[1, None, None, 3], "float32"]], cardinality=-2)
    )
    for step, side in ((1, 96), (45, 3000)):
        run.probe(
            ev.BatchSeen(step=step, parts=[{"path": "x", "shape": [1, side, side, 3], "dtype": "float32"}])
        )
    run.samples(10, rss_bytes=650 * MIB, phase="step", fit=1, step=lambda n: 4 * n + 4)
    run.samples(1, rss_bytes=1900 * MIB, phase="step", fit=1, step=45)
    run.ended(signal="SIGKILL", oom=1)


def near_larger_sample_than_before(run: Run) -> None:
    run.fit(data=pipeline({"op": "generator"}, element_spec=[[[1, 96, 96, 3], "float32"]]))
    run.samples(
        40, rss_bytes=growing(35), phase="step", fit=1, step=lambda n: 10 * n + 10, epoch=lambda n: n // 10
    )
    run.ended(signal="SIGKILL", oom=1)
