"""Ends on signals that are neither a crash nor SIGTERM."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from holdfast.explain import Strength
from holdfast.journal import events as ev
from tests.explain.made import Run, title_of


@pytest.mark.parametrize(
    ("signal", "cause", "words"),
    [
        ("SIGALRM", "script-error", "a timer of its own went off"),
        ("SIGPIPE", "script-error", "a pipe whose reader was gone"),
        ("SIGXCPU", "killed-from-outside", "used up the processor time"),
        ("SIGUSR1", "killed-from-outside", "as schedulers do before their time is over"),
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


@pytest.mark.parametrize(
    ("limit", "used_s", "told"), [(15, 14.9, True), (15, 3.0, False), (None, 900.0, False)]
)
def test_the_hard_limit_on_processor_time_ends_by_sigkill(
    tmp_path: Path, limit: Any, used_s: float, told: bool
) -> None:
    run = Run(tmp_path / "run", rlimits={"cpu": limit})
    run.fit()
    run.ended(None, "SIGKILL", user_s=used_s, system_s=0.1)
    finding = run.verdict().findings[0]
    assert finding.cause == "killed-from-outside"
    assert ("processor time" in title_of(finding)) is told


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


def test_a_signal_that_it_sent_itself_and_handled_is_not_the_one_that_ended_it(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    run.fit()
    run.probe(ev.SelfSignalled(signal="SIGUSR1", where="train.py:14"))
    run.ended(signal="SIGKILL")
    assert run.verdict().findings[0].cause == "killed-from-outside"
