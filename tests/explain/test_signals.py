"""Ends on signals that are neither a crash nor SIGTERM."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.explain import Strength
from holdfast.journal import events as ev
from tests.explain.made import Run, title_of


@pytest.mark.parametrize(
    ("signal", "cause", "words"),
    [
        ("SIGALRM", "script-error", "a timer of its own went off"),
        ("SIGPIPE", "script-error", "a pipe whose reader was gone"),
    ],
)
def test_who_sends_it_is_told(tmp_path: Path, signal: str, cause: str, words: str) -> None:
    run = Run(tmp_path / "run")
    run.fit()
    run.probe(ev.ExceptionRaised(type="ValueError", message="long ago", left="fit", process="main"))
    run.ended(None, signal)
    finding = run.verdict().findings[0]
    assert finding.cause == cause and finding.strength >= Strength.SUPPORTED
    assert words in title_of(finding)


@pytest.mark.parametrize("name", ["SIGKILL", "SIGTERM", "SIGINT"])
def test_a_signal_that_the_script_sent_itself_came_from_nobody_else(tmp_path: Path, name: str) -> None:
    run = Run(tmp_path / "run")
    run.fit()
    run.epochs([100] * 3)
    run.probe(ev.SelfSignalled(signal=name, where="train.py:14"))
    run.ended(signal=name)
    verdict = run.verdict()
    assert verdict.outcome == "failed"
    assert [(one.cause, one.strength) for one in verdict.findings] == [("script-error", Strength.ESTABLISHED)]
    assert title_of(verdict.findings[0]) == f"the script sent itself {name} at train.py:14"
