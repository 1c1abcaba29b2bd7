"""SIGTERM: who sent it, what the script did with it, and how to resume."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from holdfast.explain import Strength
from holdfast.journal import events as ev
from tests.explain.causes import test_terminal_signal
from tests.explain.made import MIB, Run, facts, remedies


def example(run: Run) -> None:
    test_terminal_signal.near_miss(run)


def near_miss(run: Run) -> None:
    test_terminal_signal.example(run)


@pytest.fixture
def run(tmp_path: Path) -> Run:
    return Run(tmp_path / "run")


def test_the_sender_is_named(run: Run) -> None:
    example(run)
    passed_on = facts(run.first())["signal.passed-on"]
    assert (passed_on["from_pid"], passed_on["from_command"]) == (1, "slurmstepd")
    assert not passed_on["from_coordinator"]


def test_in_a_group_the_supervisor_itself_is_not_called_the_sender(run: Run) -> None:
    run.fit()
    note = "SIGINT came: all save at the same step and end"
    run.supervisor(ev.GroupStopRequested(signal="SIGINT", text=note))
    agent = "python -m holdfast.launch.agent"
    run.supervisor(ev.SignalReceived(signal="SIGTERM", from_pid=os.getpid(), from_command=agent))
    run.ended(code=143)
    first = run.first()
    assert first.title.kind == "preempted.group-interrupted"
    assert facts(first)["group.stop-requested"] == {"text": note}
    passed_on = facts(first)["signal.passed-on"]
    assert (passed_on["from_pid"], passed_on["from_coordinator"]) == (None, True)


def test_a_script_that_saves_and_leaves_on_sigterm(run: Run) -> None:
    run.fit(epochs=10)
    run.probe(ev.LossSeen(step=120, logs={"loss": 1.0}), ev.SignalSeen(signal="SIGTERM"))
    run.probe(ev.SaveDone(path="last.keras"))
    run.probe(ev.ExitCalled(by="sys.exit", code=0, where="train.py:9", phase="step"))
    run.ended(0)
    assert run.slugs() == ["preempted"]
    assert facts(run.first())["exit.called"]["where"] == "train.py:9"
    assert remedies(run.first())[0] == "run.start-if-it-resumes"


def test_a_signal_that_came_after_the_work_was_done_blames_nobody(run: Run) -> None:
    run.fit()
    run.epochs([100, 100, 100])
    run.probe(ev.SignalSeen(signal="SIGTERM"))
    run.ended(0)
    assert run.slugs() == []


def _signal_in_a_loop(run: Run, *, steps_after: int) -> None:
    """A loop without a plan, SIGTERM while it steps, and so many steps more before exit code 0."""
    run.probe(ev.LoopSeen(by="tf_function", where="train.py:12"), *[ev.LossSeen(step=n) for n in range(1, 7)])
    run.probe(ev.SignalSeen(signal="SIGTERM"))
    run.samples(10, rss_bytes=600 * MIB, phase="step", step=lambda n: 10 * n)
    run.samples(20, rss_bytes=600 * MIB, phase="step", step=lambda n: 95 + min(n * 10, steps_after))
    run.ended(0)


def test_a_loop_that_stops_stepping_at_a_signal_ended_by_it(run: Run) -> None:
    _signal_in_a_loop(run, steps_after=0)
    assert run.verdict().outcome == "stopped-early"
    assert (run.first().cause, run.first().strength) == ("preempted", Strength.SUPPORTED)
    assert "steps.none-after-signal" in facts(run.first())


def test_a_loop_that_continues_after_a_signal_has_finished(run: Run) -> None:
    _signal_in_a_loop(run, steps_after=150)
    assert (run.verdict().outcome, run.slugs()) == ("finished", [])


def test_a_run_that_was_asked_to_end_is_not_judged_by_its_log(run: Run) -> None:
    run.fit()
    run.output("matplotlib: Permission denied: '/root/.config/matplotlib', using /tmp\n")
    run.ended(signal="SIGTERM")
    assert (run.blamed(), run.first().strength) == (["preempted"], Strength.ESTABLISHED)


def test_our_own_trainer_is_resumed_from_what_is_saved(tmp_path: Path) -> None:
    run = Run(tmp_path / "run", watch="train")
    run.supervisor(ev.SignalReceived(signal="SIGTERM"))
    run.ended(code=143)
    assert run.first().remedies[0].values == {"saved_step": None, "before": None}
    (run.path / "checkpoints" / "step-000120").mkdir(parents=True)
    (run.path / "checkpoints" / "step-000140.part").mkdir()
    assert run.first().remedies[0].values == {"saved_step": 120, "before": None}
