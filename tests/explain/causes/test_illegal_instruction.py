"""SIGILL."""

from __future__ import annotations

from pathlib import Path

from tests.explain.made import Run, facts


def example(run: Run) -> None:
    run.ended(signal="SIGILL")


def near_miss(run: Run) -> None:
    run.ended(signal="SIGSEGV")


def test_what_was_printed_and_that_no_step_was_done(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    run.output("F tensorflow: library was compiled to use AVX instructions, but these aren't available\n")
    example(run)
    assert facts(run.first())["error.quoted"]["text"].startswith("F tensorflow: library was compiled to use")
    assert "steps.none" in facts(run.first())
    assert run.slugs() == ["illegal-instruction"]
