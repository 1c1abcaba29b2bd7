"""A step that needs much more memory than those before it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from holdfast.explain import Strength
from holdfast.journal import events as ev
from tests.explain.made import MIB, Run, facts, growing, pipeline

_VARIES = [[[1, None, None, 3], "float32"]]
_FIXED = [[[1, 96, 96, 3], "float32"]]


def _killed(run: Run, spec: list[object], *sides: tuple[int, int], last: int = 1900) -> None:
    run.fit(data=pipeline({"op": "generator"}, element_spec=spec, cardinality=-2))
    for step, side in sides:
        part: dict[str, Any] = {"path": "x", "shape": [1, side, side, 3], "dtype": "float32"}
        run.probe(ev.BatchSeen(step=step, parts=[part]))
    run.samples(10, rss_bytes=650 * MIB, phase="step", fit=1, step=lambda n: 4 * n + 4)
    run.samples(1, rss_bytes=last * MIB, phase="step", fit=1, step=45)
    run.ended(signal="SIGKILL", oom=1)


def example(run: Run) -> None:
    _killed(run, _VARIES, (1, 96), (45, 3000))


def near_miss(run: Run) -> None:
    run.fit(data=pipeline({"op": "generator"}, element_spec=_FIXED))
    run.samples(
        40, rss_bytes=growing(35), phase="step", fit=1, step=lambda n: 10 * n + 10, epoch=lambda n: n // 10
    )
    run.ended(signal="SIGKILL", oom=1)


def test_the_batch_and_the_one_before(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    example(run)
    first = run.first()
    assert first.led_to == "killed-for-memory"
    assert facts(first)["batch.larger"] == {
        "step": 45,
        "bytes": 3000 * 3000 * 12,
        "usual_bytes": 96 * 96 * 12,
    }


def _strengths(run: Run) -> list[Strength]:
    return [one.strength for one in run.verdict().findings if one.cause == "larger-sample-than-before"]


def test_a_jump_of_memory_is_blamed_where_shapes_vary(tmp_path: Path) -> None:
    for name, spec, strength in (("a", _VARIES, Strength.SUPPORTED), ("b", _FIXED, Strength.POSSIBLE)):
        run = Run(tmp_path / name)
        _killed(run, spec)
        assert _strengths(run) == [strength]


def test_flat_memory_until_the_end_counts_only_where_shapes_vary(tmp_path: Path) -> None:
    for name, spec, strengths in (("a", _VARIES, [Strength.SUPPORTED]), ("b", _FIXED, [])):
        run = Run(tmp_path / name)
        _killed(run, spec, last=655)
        assert _strengths(run) == strengths


_OUT = (
    "CUDA out of memory. Tried to allocate {asked} GiB. GPU 0 has a total capacity of 139.80 GiB of which 137.37 GiB "
    "is free. Including non-PyTorch memory, this process has {own} MiB memory in use. Of the allocated memory "
    "228.24 MiB is allocated by PyTorch."
)


@pytest.mark.parametrize(
    ("asked", "own", "line", "strength"),
    [
        ("251.83", "1004.00", 87, Strength.SUPPORTED),
        ("251.83", "1004.00", 120, None),  # an evaluation after the steps, in a line of its own
        ("2.00", "1004.00", 87, None),  # a layer of an ordinary step
        ("140.00", "90000.00", 87, None),
    ],
)
def test_one_tensor_that_is_many_times_all_that_the_steps_took(
    tmp_path: Path, asked: str, own: str, line: int, strength: Strength | None
) -> None:
    run = Run(tmp_path / "run")
    loops = [{"where": "train.py:84", "kind": "range", "bound": "len(data)", "count": None}]
    run.probe(ev.LoopSeen(by="torch_optimizer", where="train.py:93"), ev.LoopPlanned(loops=loops))
    run.samples(4, rss_bytes=900 * MIB, phase="between", step=lambda n: 10 * n + 5)
    run.probe(
        ev.ExceptionRaised(
            type="OutOfMemoryError", message=_OUT.format(asked=asked, own=own), left="script",
            user_line="train.py:47", frames=[f"train.py:{line} main", "train.py:47 forward"], process="main",
        )
    )  # fmt: skip
    run.ended(1)
    found = [one for one in run.verdict().findings if one.cause == "larger-sample-than-before"]
    assert [one.strength for one in found] == ([strength] if strength else [])
    if found:
        assert run.first() == found[0]
        assert facts(found[0])["memory.request-beyond-all"]["steps"] == 35
