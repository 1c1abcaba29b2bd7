"""A GPU without memory, in the words of TensorFlow and torch."""

from __future__ import annotations

from pathlib import Path

from holdfast.explain import Strength
from tests.explain.causes import test_memory_refused
from tests.explain.made import GIB, MIB, Run, facts, remedies

TENSORFLOW = (
    "OOM when allocating tensor with shape[64,512,512,256] and type float on /job:localhost/replica:0/task:0/"
    "device:GPU:0 by allocator GPU_0_bfc [Op:Conv2D]"
)
#: As it was on a real GPU.
TORCH = (
    "CUDA out of memory. Tried to allocate 32.00 GiB. GPU 0 has a total capacity of 139.80 GiB of which 9.17 GiB is "
    "free. Including non-PyTorch memory, this process has 130.62 GiB memory in use. Of the allocated memory {used} is "
    "allocated by PyTorch, and {idle} is reserved by PyTorch but unallocated. If reserved but unallocated memory is "
    "large try setting PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True to avoid fragmentation."
)


def example(run: Run) -> None:
    run.raised("ResourceExhaustedError", "Graph execution error:\n\n" + TENSORFLOW)


def near_miss(run: Run) -> None:
    test_memory_refused.example(run)


def test_tensorflow_names_the_tensor(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    gpu = {"used_bytes": 139 * GIB, "total_bytes": 140 * GIB, "ours_bytes": 138 * GIB}
    run.samples(2, rss_bytes=600 * MIB, gpus=[gpu])
    example(run)
    first = run.first()
    assert first.title.values == {"shape": [64, 512, 512, 256], "requested": ""}
    used = {"used_bytes": 139 * GIB, "total_bytes": 140 * GIB, "own_bytes": 138 * GIB}
    assert facts(first)["gpu.memory"] == used
    assert all(remedy.values == {"torch": False} for remedy in first.remedies)


def test_torch_names_the_bytes(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    run.raised("OutOfMemoryError", TORCH.format(used="128.19 GiB", idle="1.81 GiB"))
    first = run.first()
    assert (first.cause, first.strength) == ("device-memory-exhausted", Strength.ESTABLISHED)
    assert first.title.values == {"shape": [], "requested": "32.00 GiB"}
    assert remedies(first) == ["batch.accumulate-gradients", "precision.half"]
    assert all(remedy.values == {"torch": True} for remedy in first.remedies)
