"""Gradients that are taken and never applied, and those that are taken for another reason."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.journal.events import GradientsNotApplied, ProbeFailed

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
