"""Whether a signal ended a run, or the script handled it and continued."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.explain import Strength
from holdfast.journal import events as ev
from tests.explain.made import NOW, Run


def _handled(path: Path, *, signal: str, trains_on: bool, by: type[ev.Event] = ev.SignalReceived) -> Run:
    """A signal at about step 190; the journal's clock and that of the samples are the same."""
    run = Run(path)
    run.fit(epochs=50)
    run.samples(20, step=lambda number: 10 * number, phase="step")
    run._clock = NOW - 1100 + 119
    (run.supervisor if by is ev.SignalReceived else run.probe)(by(signal=signal))
    run.samples(20, step=lambda number: 190 + (10 * number if trains_on else 0), phase="step")
    run._clock = NOW - 1100 + 141
    return run


@pytest.mark.parametrize("signal", ["SIGINT", "SIGHUP", "SIGTERM"])
@pytest.mark.parametrize("by", [ev.SignalReceived, ev.SignalSeen])
def test_a_run_that_trained_on_after_a_signal_did_not_end_by_it(
    tmp_path: Path, signal: str, by: type[ev.Event]
) -> None:
    run = _handled(tmp_path / "run", signal=signal, trains_on=True, by=by)
    run.raised("RuntimeError", "lost connection to the bucket")
    assert run.slugs()[0] == "script-error"
    assert not {"terminal-signal", "preempted"} & set(run.slugs())


@pytest.mark.parametrize(
    ("signal", "by_us", "cause"),
    [("SIGINT", "interrupt", "terminal-signal"), ("SIGTERM", "terminate", "preempted")],
)
def test_a_run_that_stopped_training_at_a_signal_ended_by_it(
    tmp_path: Path, signal: str, by_us: str, cause: str
) -> None:
    run = _handled(tmp_path / "run", signal=signal, trains_on=False)
    run.ended(1, stopped_by_us=by_us)
    assert (run.first().cause, run.first().strength) == (cause, Strength.ESTABLISHED)


def test_an_epoch_that_was_finished_first_ended_by_the_signal_all_the_same(tmp_path: Path) -> None:
    """The supervisor still counted the signal, nothing was raised, and the exit code says it."""
    run = _handled(tmp_path / "run", signal="SIGTERM", trains_on=True)
    run.ended(143, stopped_by_us="terminate")
    assert run.first().cause == "preempted"


@pytest.mark.parametrize(("after_s", "cause"), [(2, "terminal-signal"), (30, "script-error")])
def test_without_steps_an_error_long_after_the_signal_is_its_own(
    tmp_path: Path, after_s: int, cause: str
) -> None:
    """No framework was seen, so nobody counted steps; the exception has its time."""
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
    assert run.first().cause == cause
