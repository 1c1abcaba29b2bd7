"""Gradients that are taken and never applied, and those that are taken for another reason."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.journal.events import ExitStarted, GradientsNotApplied, GradientsOfNothing, ProbeFailed

from ..probed import SCRIPTS, line, run

pytestmark = pytest.mark.hot


@pytest.mark.parametrize(
    ("way", "told"),
    [
        ("forgotten", True),
        ("forgotten-compiled", True),
        ("applied-late", False),
        ("by-hand", False),
        ("looked-at", False),
    ],
)
def test_gradients_that_nobody_applies_are_told(tmp_path: Path, way: str, told: bool) -> None:
    made = run(SCRIPTS / "gradients_taken.py", way, folder=tmp_path / "run", cwd=SCRIPTS)
    assert made.code == 0, made.output
    assert made.all(ProbeFailed) == []
    expected = GradientsNotApplied(
        where=line(
            "gradients_taken.py", "def gradients" if way == "forgotten-compiled" else "tape.gradient("
        ),
        times=40,
        optimizer="SGD",
        optimizer_where=line("gradients_taken.py", "optimizers.SGD("),
    )
    assert made.all(GradientsNotApplied) == ([expected] if told else [])


@pytest.mark.parametrize(
    ("way", "asked", "steps"),
    [
        ("eager", "tape.gradient(", 40),
        ("compiled", "def step", 40),
        ("compiled-unapplied", "def step", 0),
        ("unfrozen", "", 40),
    ],
)
def test_gradients_of_an_empty_list(tmp_path: Path, way: str, asked: str, steps: int) -> None:
    made = run(SCRIPTS / "nothing_trainable.py", way, folder=tmp_path / "run", cwd=SCRIPTS)
    assert made.code == 0, made.output
    assert made.all(ProbeFailed) == []
    where = line("nothing_trainable.py", asked) if asked else ""
    assert made.all(GradientsOfNothing) == ([GradientsOfNothing(where=where, times=40)] if asked else [])
    assert made.one(ExitStarted).steps == steps
