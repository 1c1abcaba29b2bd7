"""Ctrl-C, a closed terminal: passed on, as an exception, caught by the script."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.explain import Strength
from holdfast.journal import events as ev
from tests.explain.made import Run, facts


def example(run: Run) -> None:
    run.fit()
    run.supervisor(ev.SignalReceived(signal="SIGHUP"))
    run.ended(signal="SIGHUP")


def near_miss(run: Run) -> None:
    run.fit()
    run.supervisor(ev.SignalReceived(signal="SIGTERM", from_pid=1, from_command="slurmstepd"))
    run.ended(signal="SIGTERM", stopped_by_us="terminate")


@pytest.fixture
def run(tmp_path: Path) -> Run:
    return Run(tmp_path / "run")


@pytest.mark.parametrize("signal", ["SIGINT", "SIGHUP", "SIGQUIT"])
def test_the_signal_is_named(run: Run, signal: str) -> None:
    run.fit()
    run.probe(ev.ExceptionRaised(type="ValueError", message="long ago", left="fit", process="main"))
    run.ended(None, signal)
    first = run.first()
    assert (first.cause, first.strength) == ("terminal-signal", Strength.ESTABLISHED)
    assert first.title.values == {"signal": signal}
    assert facts(first)["end.seen"]["signal"] == signal


def test_keyboard_interrupt_has_its_line(run: Run) -> None:
    run.fit()
    run.raised("KeyboardInterrupt", "")
    assert (run.first().cause, run.first().title.values) == ("terminal-signal", {"signal": "SIGINT"})
    assert facts(run.first())["error.user-line"]["line"] == "train.py:41"


def _interrupted(run: Run, *, raised: str, moves_on: bool = False) -> None:
    """The script itself was sent SIGINT, and ended with exit code 0."""
    run.fit(epochs=50)
    run.samples(20, step=lambda number: 10 * number, phase="step")
    run.probe(ev.SignalSeen(signal="SIGINT"))
    if raised:
        run.probe(
            ev.ExceptionRaised(type=raised, left="fit", caught=None, user_line="train.py:30", process="main")
        )
    done = 5000 if moves_on else 190
    run.probe(ev.FitDone(steps=done, epochs=50 if moves_on else 2, epochs_done=1, raised=raised))
    run.ended(0)


def test_ctrl_c_that_the_script_caught(run: Run) -> None:
    _interrupted(run, raised="KeyboardInterrupt")
    assert run.verdict().outcome == "stopped-early"
    assert (run.first().cause, run.first().strength) == ("terminal-signal", Strength.ESTABLISHED)
    assert facts(run.first())["fit.interrupted"] == {"where": "train.py:30"}
    assert facts(run.first())["signal.seen-by-script"] == {"signal": "SIGINT", "direct": True}


def test_a_signal_that_the_script_survived_is_no_end(run: Run) -> None:
    _interrupted(run, raised="", moves_on=True)
    assert run.slugs() == []


def test_a_loop_of_fits_that_was_left_at_a_signal(run: Run) -> None:
    for number in range(1, 4):
        run.probe(ev.FitStarted(fit=number, epochs=1, planned_steps_per_epoch=60))
        run.probe(ev.FitDone(fit=number, steps=60, epochs=1, epochs_done=1, steps_by_epoch=[60]))
    run.samples(3, step=lambda number: 60 * number + 60, phase="step")
    run.probe(ev.SignalSeen(signal="SIGINT"))
    run.ended(0)
    assert run.verdict().outcome == "stopped-early"
    assert (run.first().cause, run.first().strength) == ("terminal-signal", Strength.SUPPORTED)
    assert "steps.none-after-signal" in facts(run.first())
