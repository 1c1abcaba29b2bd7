"""What a script caught by itself, and went on from or left at, as if all were well."""

from __future__ import annotations

import re
from pathlib import Path

from holdfast.explain import Strength, Verdict
from holdfast.journal import events as ev
from tests.explain.made import Run, sentence, title_of


def _first(verdict: Verdict) -> tuple[str, Strength]:
    return verdict.findings[0].cause, verdict.findings[0].strength


def _text(verdict: Verdict) -> str:
    return "\n".join(
        [title_of(verdict.findings[0]), *(sentence(fact) for fact in verdict.findings[0].because)]
    )


def test_a_launchers_word_for_what_ended_its_child_is_not_the_cause(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    missing = "[Errno 2] No such file or directory: 'labels/classes.txt'"
    run.probe(
        ev.ExceptionRaised(
            type="FileNotFoundError",
            message=missing,
            errno=2,
            left="script",
            caught=False,
            user_line="work.py:4",
        )
    )
    _as_another(run)
    run.raised(
        "CalledProcessError", "Command '['/usr/bin/python', 'work.py']' returned non-zero exit status 1."
    )
    finding = run.verdict().findings[0]
    assert finding.cause == "path-missing"
    assert title_of(finding) == "labels/classes.txt is not there"
    assert "work.py:4" in "\n".join(sentence(fact) for fact in finding.because)


def _as_another(run: Run) -> None:
    """What was written so far was written by a process of another number."""
    journal = run.path / "journal.jsonl"
    lines = journal.read_text().splitlines()
    lines[-1] = re.sub(r'"pid": \d+', '"pid": 77', lines[-1], count=1)
    journal.write_text("\n".join(lines) + "\n")


def _search(path: Path, *raised: str, code: int = 0) -> Verdict:
    run = Run(path)
    for number, kind in enumerate(raised, 1):
        run.probe(ev.FitStarted(fit=number, epochs=4, planned_steps_per_epoch=8))
        steps = [8, 8] if kind else [8] * 4
        if kind:
            run.probe(
                ev.ExceptionRaised(
                    type=kind, left="fit", caught=None, user_line="train.py:16", process="main"
                )
            )
        done = {"steps": sum(steps), "epochs": len(steps), "epochs_done": len(steps), "steps_by_epoch": steps}
        run.probe(ev.FitDone(fit=number, raised=kind, **done))  # type: ignore[arg-type]
    run.samples(1, step=sum(16 if kind else 32 for kind in raised), phase="after")
    run.ended(code)
    return run.verdict()


def test_trials_that_were_pruned_are_no_early_end(tmp_path: Path) -> None:
    verdict = _search(tmp_path / "run", "", "", "Pruned", "Pruned", "Pruned")
    assert (verdict.outcome, verdict.findings) == ("finished", ())
    assert sentence(verdict.known[0]) == (
        "3 of 5 fits were ended by Pruned at train.py:16; the script caught it and continued"
    )


def test_a_search_that_was_interrupted_is_one(tmp_path: Path) -> None:
    assert _search(tmp_path / "run", "", "", "KeyboardInterrupt").outcome == "stopped-early"


def test_nor_did_a_search_end_well_in_which_no_trial_got_through(tmp_path: Path) -> None:
    verdict = _search(tmp_path / "run", "ValueError", "ValueError")
    assert verdict.outcome == "stopped-early"
    assert verdict.findings[0].cause == "script-error"
