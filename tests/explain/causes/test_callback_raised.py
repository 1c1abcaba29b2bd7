"""An exception that left a callback, or that Keras swallowed."""

from __future__ import annotations

from pathlib import Path

from holdfast.journal import events as ev
from tests.explain.made import Run, facts, remedies


def example(run: Run) -> None:
    run.fit()
    run.raised(
        "RuntimeError",
        "the server said no",
        callback="Upload",
        user_line="train.py:14",
        user_code="raise RuntimeError(text)",
    )


def near_miss(run: Run) -> None:
    run.fit()
    run.raised("RuntimeError", "the server said no", frames=["train.py:30 <module>", "train.py:12 load"])


def test_the_callback_its_line_and_its_error_are_values(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    example(run)
    expected = {
        "callback": "Upload",
        "type": "RuntimeError",
        "where": "train.py:14",
        "message": "the server said no",
    }
    assert run.first().title.values == expected
    assert remedies(run.first()) == ["line.change", "callback.catch-its-errors"]


def test_stop_iteration_is_swallowed_by_keras(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    run.fit(epochs=3)
    for _ in range(3):
        run.probe(
            ev.ExceptionRaised(type="StopIteration", left="callback", callback="Cut", user_line="train.py:9")
        )
    run.epochs([40, 40, 40])
    run.ended(0)
    first = run.first()
    assert first.title.kind == "callback-raised.swallowed"
    assert facts(first)["callback.stop-iteration"]["times"] == 3
    assert facts(first)["steps.by-epoch"] == {"steps": [40, 40, 40], "planned": 100}
