"""Memory of the host and of the device: for each cause a run that has it and one that only looks like it."""

from __future__ import annotations

from holdfast.journal import events as ev
from holdfast.journal.vitals import Process
from tests.explain.made import GIB, MIB, Run, growing, pipeline


def _fill(run: Run, **data: object) -> None:
    run.fit(
        data=pipeline(
            {"op": "map"},
            {"op": "shuffle", "buffer_size": 2048, "where": "train.py:12"},
            {"op": "batch", "batch_size": 4},
            element_bytes=12 * MIB,
            **data,
        )
    )


def killed_for_memory(run: Run) -> None:
    run.samples(8, rss_bytes=growing(200), phase="build")
    run.ended(signal="SIGKILL", oom=1)


def near_killed_for_memory(run: Run) -> None:
    run.samples(8, rss_bytes=600 * MIB, phase="step", step=5, fit=1)
    run.ended(signal="SIGKILL", oom=0)


def killed_from_outside(run: Run) -> None:
    run.samples(8, rss_bytes=600 * MIB, phase="step", step=5, fit=1)
    run.ended(signal="SIGKILL", oom=0)


def near_killed_from_outside(run: Run) -> None:
    killed_for_memory(run)


def memory_refused(run: Run) -> None:
    run.raised(
        "ResourceExhaustedError",
        "Graph execution error:\n\nOOM when allocating tensor with "
        "shape[64,512,512,256]"
        " and type float on /job:localhost/replica:0/task:0/device:CPU:0 by allocator cpu",
    )


def near_memory_refused(run: Run) -> None:
    run.raised(
        "ResourceExhaustedError", "Resource exhausted: /small/ckpt.tempstate123; No space left on device"
    )


def shuffle_buffer_too_large(run: Run) -> None:
    _fill(run)
    run.samples(3, rss_bytes=600 * MIB, phase="build")
    run.samples(9, rss_bytes=growing(170), phase="fill", fit=1)
    run.ended(signal="SIGKILL", oom=1)


def near_shuffle_buffer_too_large(run: Run) -> None:
    """The buffer was filled long ago; memory rose at the steps."""
    _fill(run, cardinality=100_000)
    run.samples(3, rss_bytes=600 * MIB, phase="build")
    run.samples(4, rss_bytes=610 * MIB, phase="fill", fit=1)
    run.samples(20, rss_bytes=growing(70, 620), phase="step", fit=1, step=lambda n: 10 * n + 10)
    run.ended(signal="SIGKILL", oom=1)


def cache_too_large(run: Run) -> None:
    run.fit(
        data=pipeline(
            {"op": "map"},
            {"op": "cache", "where": "train.py:14", "cardinality": 2000},
            {"op": "batch", "batch_size": 4},
            element_bytes=12 * MIB,
        )
    )
    run.samples(3, rss_bytes=600 * MIB, phase="build")
    run.samples(12, rss_bytes=growing(120), phase="step", fit=1, step=lambda n: 10 * n + 10)
    run.ended(signal="SIGKILL", oom=1)


def near_cache_too_large(run: Run) -> None:
    """The same pipeline, and growth goes on in later epochs."""
    run.fit(
        data=pipeline(
            {"op": "cache", "where": "train.py:14", "cardinality": 20}, {"op": "batch", "batch_size": 4}
        )
    )
    run.samples(2, rss_bytes=600 * MIB, phase="build")
    run.samples(
        40, rss_bytes=growing(30), phase="step", fit=1, step=lambda n: 10 * n + 10, epoch=lambda n: n // 10
    )
    run.ended(signal="SIGKILL", oom=1)


def prefetch_too_deep(run: Run) -> None:
    run.fit(
        data=pipeline(
            {"op": "map"},
            {"op": "batch", "batch_size": 8},
            {"op": "prefetch", "buffer_size": 500, "where": "train.py:16"},
            element_bytes=24 * MIB,
        )
    )
    run.samples(2, rss_bytes=600 * MIB, phase="build")
    run.samples(8, rss_bytes=growing(200), phase="step", fit=1, step=lambda n: n + 1)
    run.ended(signal="SIGKILL", oom=1)


def near_prefetch_too_deep(run: Run) -> None:
    """A shallow prefetch, and a leak."""
    run.fit(
        data=pipeline(
            {"op": "batch", "batch_size": 8}, {"op": "prefetch", "buffer_size": 2}, element_bytes=24 * MIB
        )
    )
    run.samples(2, rss_bytes=600 * MIB, phase="build")
    run.samples(
        40, rss_bytes=growing(35), phase="step", fit=1, step=lambda n: 10 * n + 10, epoch=lambda n: n // 10
    )
    run.ended(signal="SIGKILL", oom=1)


def batched_twice(run: Run) -> None:
    run.fit(
        data=pipeline(
            {"op": "batch", "batch_size": 8, "where": "data.py:5"},
            {"op": "batch", "batch_size": 8, "where": "train.py:9"},
            element_spec=[[[None, None, 64, 64, 3], "float32"]],
        )
    )
    run.probe(ev.ModelSeen(input_shape=[None, 64, 64, 3], parameters=10, trainable_parameters=10))
    run.raised(
        "ValueError",
        'Input 0 of layer "conv2d" is incompatible with the layer: expected ndim=4, found ndim=5',
    )


def near_batched_twice(run: Run) -> None:
    """Batches of sequences, for a model that takes them."""
    run.fit(
        data=pipeline(
            {"op": "batch", "batch_size": 8},
            {"op": "batch", "batch_size": 8},
            element_spec=[[[None, None, 64, 64, 3], "float32"]],
        )
    )
    run.probe(ev.ModelSeen(input_shape=[None, None, 64, 64, 3], parameters=10, trainable_parameters=10))
    run.epochs([100, 100, 100])
    run.ended(0)


def array_copied(run: Run) -> None:
    run.fit(steps=None, data=ev.DatasetSeen(type="array", array_bytes=900 * MIB, where="train.py:30"))
    run.samples(4, rss_bytes=1100 * MIB, phase="build")
    run.samples(5, rss_bytes=growing(180, 1100), phase="fill", fit=1)
    run.ended(signal="SIGKILL", oom=1)


def near_array_copied(run: Run) -> None:
    run.fit(data=ev.DatasetSeen(type="array", array_bytes=900 * MIB, where="train.py:30", cardinality=100))
    run.epochs([100, 100, 100])
    run.ended(0)


def memory_leak(run: Run) -> None:
    run.fit()
    run.samples(2, rss_bytes=600 * MIB, phase="build")
    run.samples(
        40, rss_bytes=growing(35), phase="step", fit=1, step=lambda n: 10 * n + 10, epoch=lambda n: n // 10
    )
    for held in (100, 1200):
        item = {
            "name": "Keep.kept",
            "type": "list",
            "length": held // 2,
            "bytes": held * MIB,
            "where": "train.py:8",
        }
        run.probe(ev.HoldingsSeen(step=held // 3, items=[item]))
    run.ended(signal="SIGKILL", oom=1)


def near_memory_leak(run: Run) -> None:
    """It rose in the first epoch, stayed there and finished."""
    run.fit()
    run.samples(2, rss_bytes=600 * MIB, phase="build")
    run.samples(10, rss_bytes=growing(35), phase="step", fit=1, step=lambda n: 10 * n + 10)
    run.samples(
        20, rss_bytes=950 * MIB, phase="step", fit=1, step=lambda n: 10 * n + 110, epoch=lambda n: 1 + n // 10
    )
    run.epochs([100, 100, 100])
    run.ended(0)


def retracing(run: Run) -> None:
    run.probe(
        ev.TracesCounted(
            function="step",
            where="train.py:17",
            traces=64,
            calls=66,
            reason="python-value",
            signatures=["(x: TensorSpec, rate: Literal[0.1])", "(x: TensorSpec, rate: Literal[0.05])"],
        )
    )
    run.ended(0)


def near_retracing(run: Run) -> None:
    run.probe(
        ev.TracesCounted(function="step", where="train.py:17", traces=8, calls=4000, reason="new-shape")
    )
    run.ended(0)


def model_rebuilt(run: Run) -> None:
    for fit in range(1, 9):
        run.probe(ev.ModelSeen(name=f"model_{fit}", parameters=10, trainable_parameters=10))
        run.probe(ev.FitStarted(fit=fit, epochs=2, planned_steps_per_epoch=10))
        run.epochs([10, 10], fit=fit)
        run.samples(4, rss_bytes=(600 + 170 * fit) * MIB, phase="step", fit=fit, step=20 * fit)
    run.probe(ev.HoldingsSeen(object_counts={"Sequential": 8}))
    run.ended(signal="SIGKILL", oom=1)


def near_model_rebuilt(run: Run) -> None:
    for fit in range(1, 9):
        run.probe(ev.FitStarted(fit=fit, epochs=2, planned_steps_per_epoch=10))
        run.epochs([10, 10], fit=fit)
        run.samples(4, rss_bytes=(600 + 10 * fit) * MIB, phase="step", fit=fit, step=20 * fit)
    run.ended(0)


def evaluation_accumulates(run: Run) -> None:
    run.fit(validation=True)
    run.samples(10, rss_bytes=600 * MIB, phase="step", fit=1, step=lambda n: 10 * n + 10)
    run.samples(14, rss_bytes=growing(100), phase="validation", fit=1, step=100, test_batches=lambda n: n + 1)
    run.ended(signal="SIGKILL", oom=1)


def near_evaluation_accumulates(run: Run) -> None:
    """Training grows, validation does not."""
    run.fit(validation=True)
    for epoch in range(4):
        run.samples(
            8,
            rss_bytes=growing(40, 600 + 320 * epoch),
            phase="step",
            fit=1,
            epoch=epoch,
            step=lambda n, epoch=epoch: 100 * epoch + 10 * n + 10,
        )
        run.samples(
            4,
            rss_bytes=(600 + 320 * epoch + 290) * MIB,
            phase="validation",
            fit=1,
            epoch=epoch,
            step=100 * epoch + 80,
            test_batches=lambda n: n + 1,
        )
    run.ended(signal="SIGKILL", oom=1)


def worker_memory_grows(run: Run) -> None:
    run.probe(ev.WorkersStarted(by="PyDataset", method="fork", count=2, where="train.py:22"))
    run.fit(data=ev.DatasetSeen(type="py_dataset", workers=2, multiprocessing=True, cardinality=100))
    run.samples(
        20,
        rss_bytes=400 * MIB,
        phase="step",
        fit=1,
        step=lambda n: 5 * n + 5,
        processes=lambda n: [Process(pid=pid, private_bytes=(30 + 38 * n) * MIB) for pid in (4100, 4101)],
    )
    run.ended(signal="SIGKILL", oom=1)


def near_worker_memory_grows(run: Run) -> None:
    """Workers of a steady size beside a parent that leaks."""
    run.fit(data=ev.DatasetSeen(type="py_dataset", workers=2, multiprocessing=True, cardinality=100))
    run.samples(
        40,
        rss_bytes=growing(35),
        phase="step",
        fit=1,
        step=lambda n: 10 * n + 10,
        epoch=lambda n: n // 10,
        processes=[Process(pid=pid, private_bytes=60 * MIB) for pid in (4100, 4101)],
    )
    run.ended(signal="SIGKILL", oom=1)


def swapping(run: Run) -> None:
    run.samples(
        30,
        rss_bytes=700 * MIB,
        phase="step",
        fit=1,
        step=lambda n: n,
        major_faults=lambda n: 4000 * n,
        swap_in_pages=lambda n: 1000 + 9000 * n,
        swap_bytes=400 * MIB,
    )
    run.ended(0)


def near_swapping(run: Run) -> None:
    """Major faults of a memory-mapped dataset, nothing in swap."""
    run.samples(
        30,
        rss_bytes=700 * MIB,
        phase="step",
        fit=1,
        step=lambda n: n,
        major_faults=lambda n: 4000 * n,
        swap_in_pages=1000,
        swap_bytes=0,
    )
    run.ended(0)


# -- the device -----------------------------------------------------------------------------------

_CARD = {"name": "NVIDIA H200", "total_bytes": 140 * GIB}
_OOM = (
    "OOM when allocating tensor with shape[64,512,512,256] and type float on /job:localhost/replica:0/task:0/"
    "device:GPU:0 by allocator GPU_0_bfc [Op:Conv2D]"
)


def device_memory_exhausted(run: Run) -> None:
    run.raised("ResourceExhaustedError", "Graph execution error:\n\n" + _OOM)


def near_device_memory_exhausted(run: Run) -> None:
    memory_refused(run)


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
