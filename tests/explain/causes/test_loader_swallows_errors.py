"""A loader that is busy and yields nothing."""

from __future__ import annotations

from pathlib import Path

from holdfast.journal import events as ev
from holdfast.journal.stack_files import Frame, Thread
from tests.explain.made import Run, facts, main_in_fit, python_thread, user

_PACKAGES = "/venv/lib/python3.11/site-packages/"
_ADAPTER = Frame(_PACKAGES + "keras/src/trainers/data_adapters/generator_data_adapter.py", 1, "get")


def _busy_at(*frames: Frame) -> Thread:
    return Thread(tid=4000, main=True, state="R", cpu_s=0.98, frames=[*frames, user(30, "<module>")])


def example(run: Run) -> None:
    run.fit(data=ev.DatasetSeen(type="generator", cardinality=-2))
    run.stalled("fill", _busy_at(user(9, "examples", "continue"), _ADAPTER), step=0)
    run.stopped()


def near_miss(run: Run) -> None:
    """Your code asleep, not busy."""
    run.fit(data=ev.DatasetSeen(type="generator", cardinality=-2))
    frames = user(9, "examples"), Frame(_PACKAGES + "tensorflow/python/ops/script_ops.py", 1, "__call__")
    run.stalled("fill", main_in_fit(), python_thread(4002, *frames, wait="hrtimer_nanosleep"), step=0)
    run.stopped()


def test_the_busy_line_and_what_it_swallowed(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    error = {"type": "OSError", "message": "no such image", "user_line": "train.py:7"}
    run.probe(ev.ExceptionRaised(left="loader", **error))  # type: ignore[arg-type]
    example(run)
    first = run.first()
    assert first.title.values == {"where": "/home/me/train.py:9 in examples"}
    assert facts(first)["thread.busy"]["cpu_share"] == 0.98
    assert facts(first)["error.swallowed"] == {
        "error": "OSError",
        "where": "train.py:7",
        "message": "no such image",
    }


def test_a_training_step_that_computes_is_no_loader(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    run.fit()
    step = Frame(_PACKAGES + "keras/src/backend/tensorflow/trainer.py", 1, "one_step_on_data")
    run.stalled("step", _busy_at(user(9, "call"), step))
    run.stopped()
    assert "loader-swallows-errors" not in run.slugs()
