"""Refused allocations: of a tensor, of an array, and without a word under a limit on address space."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from holdfast.explain import Strength
from holdfast.journal import events as ev
from tests.explain.made import GIB, Run, facts, remedies


def example(run: Run) -> None:
    run.raised(
        "ResourceExhaustedError",
        "Graph execution error:\n\nOOM when allocating tensor with "
        "shape[64,512,512,256]"
        " and type float on /job:localhost/replica:0/task:0/device:CPU:0 by allocator cpu",
    )


def near_miss(run: Run) -> None:
    run.raised(
        "ResourceExhaustedError", "Resource exhausted: /small/ckpt.tempstate123; No space left on device"
    )


_NUMPY = "Unable to allocate 234. GiB for an array with shape (40000, 512, 512, 3) and data type "


def test_the_tensor_is_named(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    example(run)
    first = run.first()
    assert first.strength == Strength.ESTABLISHED
    assert first.title.values == {"shape": [64, 512, 512, 256], "bytes": None, "array": None, "dtype": None}
    assert remedies(first) == ["batch.shrink", "limit.raise-address-space"]


@pytest.mark.parametrize(
    ("dtype", "first_remedy"), [("float64", "array.use-float32"), ("uint8", "array.read-in-parts")]
)
def test_the_array_is_named_with_numpys_numbers(tmp_path: Path, dtype: str, first_remedy: str) -> None:
    run = Run(tmp_path / "run")
    run.raised("MemoryError", _NUMPY + dtype)
    first = run.first()
    assert first.cause == "memory-refused"
    assert first.title.values == {
        "shape": None, "bytes": 234 * GIB, "array": "(40000, 512, 512, 3)", "dtype": dtype,
    }  # fmt: skip
    assert remedies(first)[0] == first_remedy


def test_the_limits_are_shown(tmp_path: Path) -> None:
    run = Run(tmp_path / "run", rlimits={"as": 5 * GIB})
    run.raised("MemoryError", "std::bad_alloc")
    assert facts(run.first())["limit.memory"] == {"name": "RLIMIT_AS", "limit_bytes": 5 * GIB}


_CRASH = """Fatal Python error: Segmentation fault

Thread 0x00007f2a4e1c1b80 (most recent call first):
  File "/venv/lib/python3.11/site-packages/tensorflow/python/eager/execute.py", line 53 in quick_execute
  File "/home/me/train.py", line 4 in <module>
"""


def _crashed(path: Path, *, virtual: int = 4 * GIB, in_operation: bool = False, **rlimits: int) -> Run:
    run = Run(path / "run", rlimits=rlimits)
    run.probe(ev.ProcessJoined(role="main"))
    run.fit()
    if in_operation:
        (run.path / "stacks").mkdir()
        (run.path / "stacks" / f"faulthandler-{os.getpid()}.txt").write_text(_CRASH)
    run.samples(5, rss_bytes=2 * GIB, virtual_bytes=virtual, phase="fill")
    run.ended(signal="SIGSEGV")
    return run


def test_a_crash_without_words_in_an_operation_under_a_limit_on_address_space(tmp_path: Path) -> None:
    first = _crashed(tmp_path, in_operation=True, **{"as": 9 * GIB}).first()
    assert (first.title.kind, first.strength) == ("memory-refused.without-words", Strength.SUPPORTED)
    assert first.title.values == {"limit_bytes": 9 * GIB, "signal": "SIGSEGV"}
    assert facts(first)["crash.in-operation"] == {"where": "/home/me/train.py:4 in <module>"}
    assert [fact.kind for fact in first.against] == ["output.names-no-memory"]


@pytest.mark.parametrize(("virtual", "refused"), [(8 * GIB, True), (6 * GIB, False)])
def test_a_crash_near_the_limit_on_address_space(tmp_path: Path, virtual: int, refused: bool) -> None:
    run = _crashed(tmp_path, virtual=virtual, **{"as": 9 * GIB})
    assert run.slugs()[0] == ("memory-refused" if refused else "native-crash")
    if refused:
        assert facts(run.first())["memory.address-space"] == {"used_bytes": virtual}


def test_a_crash_without_a_limit_is_a_crash(tmp_path: Path) -> None:
    assert "memory-refused" not in _crashed(tmp_path, in_operation=True).slugs()
