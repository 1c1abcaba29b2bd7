"""Processes that outlive another: below a wrapper that was killed, and of a pool when the script is over."""

from __future__ import annotations

from pathlib import Path

from holdfast.explain import Strength
from tests.explain.made import Run, title_of


def test_a_wrapper_that_was_killed_while_the_training_runs_on(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    run.fit(epochs=1)
    trains = next(said for said in _entries(run) if said["kind"] == "fit_started")["pid"]
    run.ended(None, "SIGKILL", left_running=[{"pid": trains, "command": "python work.py"}])
    finding = run.verdict().findings[0]
    assert (finding.cause, finding.strength) == ("killed-from-outside", Strength.ESTABLISHED)
    assert f"the training below it runs on: process {trains} (python work.py)" in title_of(finding)


def test_a_helper_that_was_left_is_no_training(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    run.fit(epochs=1)
    run.ended(None, "SIGKILL", left_running=[{"pid": 1, "command": "tensorboard"}])
    assert "runs on" not in title_of(run.verdict().findings[0])


def _entries(run: Run) -> list[dict[str, object]]:
    import json

    return [json.loads(line) for line in (run.path / "journal.jsonl").read_text().splitlines()]
