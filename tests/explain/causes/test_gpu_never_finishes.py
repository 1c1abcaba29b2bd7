"""A GPU that works on one step without an end."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from holdfast.explain import Strength
from holdfast.journal import events as ev
from holdfast.journal.stack_files import Frame, Thread
from tests.explain.made import GIB, Run, facts, remedies, user

_TORCH = "/venv/lib/python3.11/site-packages/torch/cuda/__init__.py"


def _gpu(percent: int) -> list[dict[str, Any]]:
    return [{"utilisation": percent, "used_bytes": 5 * GIB, "total_bytes": 140 * GIB, "ours_bytes": 4 * GIB}]


def _stalled(
    run: Run, *, percent: int = 100, phase: str = "between", on_gpu_s: float = 16.0, result: str = "", by: str
) -> None:
    """The main thread keeps a core busy in the driver, below the user's line."""
    run.probe(ev.LoopSeen(by=by, where="train.py:20"))
    frames = [Frame(_TORCH, 1040, "synchronize"), user(21, "<module>")]
    run.samples(40, gpus=_gpu(percent), step=40)
    run.probe(
        ev.SamePointSeen(
            step=40,
            for_s=16.2,
            where="train.py:21",
            frames=[f"{_TORCH}:1040 synchronize", "/home/me/train.py:21 <module>"],
            result=result,
        )
    )
    progress = {"on_gpu_s": on_gpu_s} if on_gpu_s else {}
    run.stalled(phase, Thread(tid=4000, main=True, state="R", cpu_s=1.0, frames=frames), progress=progress)
    run.stopped()


def example(run: Run) -> None:
    _stalled(run, by="torch_optimizer")


def near_miss(run: Run) -> None:
    """The supervisor did not see that the training waits for the GPU: it evaluates."""
    _stalled(run, on_gpu_s=0.0, by="torch_optimizer")


def test_where_it_waits_and_how_busy_the_gpu_was(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    example(run)
    first = run.first()
    assert first.strength is Strength.SUPPORTED
    assert first.title.values == {"where": "train.py:21"}
    assert facts(first)["gpu.busy-since-step"] == {"least": 100}
    assert facts(first)["gpu.same-point"] == {
        "where": "train.py:21",
        "inside": "synchronize",
        "seconds": 16.2,
    }
    assert "gpu.result-pending" not in facts(first)
    assert "loader-swallows-errors" not in run.slugs()


def test_on_jax_the_result_of_the_step_is_missing(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    _stalled(run, by="jax", result="pending")
    first = run.first()
    assert facts(first)["gpu.result-pending"] == {"step": 40}
    assert first.remedies[0].values == {"jax": True}
    assert remedies(first) == ["gpu.bound-loops", "gpu.find-the-kernel"]


def test_a_gpu_that_is_not_kept_busy_is_only_possible(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    _stalled(run, percent=5, by="torch_optimizer")
    found = [one.strength for one in run.verdict().findings if one.cause == "gpu-never-finishes"]
    assert found == [Strength.POSSIBLE]


@pytest.mark.parametrize("phase", ["callback", "validation", "data-wait", "save"])
def test_it_is_said_of_steps_alone(tmp_path: Path, phase: str) -> None:
    run = Run(tmp_path / "run")
    _stalled(run, phase=phase, by="torch_optimizer")
    assert "gpu-never-finishes" not in run.slugs()
