"""Advice that fits what happened."""

from __future__ import annotations

from pathlib import Path

from holdfast.explain import Finding
from tests.explain.made import Run, do_of, summary_of


def _raised(path: Path, kind: str, message: str, **more: object) -> Finding:
    run = Run(path)
    run.raised(kind, message, **more)
    return run.verdict().findings[0]


def test_a_question_that_nobody_can_answer(tmp_path: Path) -> None:
    code = 'if input("save? ") == "y":'
    found = _raised(tmp_path / "run", "EOFError", "EOF when reading a line", user_code=code)
    assert do_of(found.remedies[0]) == (
        "nobody is there to answer: let train.py:41 take it from an option, or start it at a terminal"
    )


def test_one_step_is_a_step(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    run.samples(2, rss_bytes=1 << 20, phase="step", step=1)
    run.ended(0)
    assert "1 step done" in summary_of(run.verdict())
