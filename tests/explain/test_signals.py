"""Ends on signals that are neither a crash nor SIGTERM."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from holdfast.explain import Strength
from holdfast.journal import events as ev
from tests.explain.made import NOW, Run, sentence, title_of


@pytest.mark.parametrize(
    ("signal", "cause", "words"),
    [
        ("SIGALRM", "script-error", "a timer of its own went off"),
        ("SIGPIPE", "script-error", "a pipe whose reader was gone"),
        ("SIGXCPU", "killed-from-outside", "used up the processor time"),
        ("SIGUSR1", "killed-from-outside", "as schedulers do before their time is over"),
        ("SIGQUIT", "terminal-signal", "SIGQUIT"),
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


def test_a_worker_that_ended_itself_is_told_by_its_line(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    run.probe(ev.WorkersStarted(by="PyDataset", method="fork", count=2))
    run.fit()
    run.probe(ev.WorkerExitCalled(worker_pid=4101, code=3, where="train.py:6"))
    run.supervisor(ev.WorkerGone(worker_pid=4101, name="python", lived_s=8.0, last_state="exit code 3"))
    run.supervisor(ev.Stalled(phase="step", step=18, silent_for_s=37.0))
    run.stopped()
    finding = run.verdict().findings[0]
    assert finding.cause == "worker-died"
    assert "it ended itself by os._exit at train.py:6" in [sentence(fact) for fact in finding.because]


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


# -- signals that a script handled, and went on ---------------------------------------------------


def _handled(path: Path, *, signal: str, trains_on: bool, by: type[ev.Event] = ev.SignalReceived) -> Run:
    """A signal when the steps stood at about 190; the journal's clock and that of the samples are the same."""
    run = Run(path)
    run.fit(epochs=50)
    run.samples(20, step=lambda number: 10 * number, phase="step")
    run._clock = NOW - 1100 + 119
    said = by(signal=signal)
    (run.supervisor if by is ev.SignalReceived else run.probe)(said)
    run.samples(20, step=lambda number: 190 + (10 * number if trains_on else 0), phase="step")
    run._clock = NOW - 1100 + 141
    return run


@pytest.mark.parametrize("signal", ["SIGINT", "SIGHUP", "SIGTERM"])
@pytest.mark.parametrize("by", [ev.SignalReceived, ev.SignalSeen])
def test_what_trained_on_after_a_signal_did_not_end_by_it(
    tmp_path: Path, signal: str, by: type[ev.Event]
) -> None:
    run = _handled(tmp_path / "run", signal=signal, trains_on=True, by=by)
    run.raised("RuntimeError", "lost connection to the bucket")
    causes = [finding.cause for finding in run.verdict().findings]
    assert causes[0] == "script-error"
    assert not {"terminal-signal", "preempted"} & set(causes)


@pytest.mark.parametrize(
    ("signal", "by_us", "cause"),
    [("SIGINT", "interrupt", "terminal-signal"), ("SIGTERM", "terminate", "preempted")],
)
def test_what_stopped_training_at_a_signal_ended_by_it(
    tmp_path: Path, signal: str, by_us: str, cause: str
) -> None:
    run = _handled(tmp_path / "run", signal=signal, trains_on=False)
    run.ended(1, stopped_by_us=by_us)
    assert (run.verdict().findings[0].cause, run.verdict().findings[0].strength) == (
        cause,
        Strength.ESTABLISHED,
    )


def test_an_epoch_that_was_finished_first_ended_by_the_signal_all_the_same(tmp_path: Path) -> None:
    """The supervisor still counted the signal, nothing was raised, and the exit code says it."""
    run = _handled(tmp_path / "run", signal="SIGTERM", trains_on=True)
    run.ended(143, stopped_by_us="terminate")
    assert run.verdict().findings[0].cause == "preempted"


@pytest.mark.parametrize(("after_s", "cause"), [(2, "terminal-signal"), (30, "script-error")])
def test_without_steps_an_error_long_after_the_signal_is_its_own(
    tmp_path: Path, after_s: int, cause: str
) -> None:
    """No framework was seen, so that nobody counted steps; the exception has its time."""
    run = Run(tmp_path / "run")
    run.supervisor(ev.SignalReceived(signal="SIGHUP"))
    for _ in range(after_s - 1):
        run._tick()
    run.probe(
        ev.ExceptionRaised(
            type="RuntimeError", message="lost", left="script", caught=False, user_line="t.py:4"
        )
    )
    run.ended(1, stopped_by_us="hangup")
    assert run.verdict().findings[0].cause == cause
