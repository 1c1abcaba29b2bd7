"""A SIGKILL that the kernel did not send for memory: by a person, a time limit, a scheduler."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from holdfast.explain import Strength
from holdfast.journal import events as ev
from tests.explain.causes import test_killed_for_memory
from tests.explain.made import MIB, Run, facts, remedies


def example(run: Run) -> None:
    run.samples(8, rss_bytes=600 * MIB, phase="step", step=5, fit=1)
    run.ended(signal="SIGKILL", oom=0)


def near_miss(run: Run) -> None:
    test_killed_for_memory.example(run)


def _ended(path: Path, signal: str = "SIGKILL", *, limit_s: int | None = None, **more: Any) -> Run:
    run = Run(path / "run", rlimits={"cpu": limit_s})
    run.fit()
    run.ended(None, signal, **more)
    return run


@pytest.mark.parametrize("probed", [True, False])
def test_a_counter_that_did_not_move_establishes_it_where_the_process_was_seen_from_inside(
    tmp_path: Path, probed: bool
) -> None:
    """Else it may have sent the signal itself."""
    run = Run(tmp_path / "run")
    if probed:
        run.fit()
    example(run)
    first = run.first()
    assert (first.title.kind, first.strength, first.ends) == (
        "killed-from-outside",
        Strength.established_if(probed),
        True,
    )
    assert facts(first)["memory.oom-kills"] == {"kills": 0}
    assert facts(first)["end.seen"]["signal"] == "SIGKILL"
    assert remedies(first) == ["signal.find-the-sender", "run.let-it-restart"]


@pytest.mark.parametrize(
    ("mib", "oom", "strength"),
    [
        (600, None, Strength.SUPPORTED),
        (1990, 0, Strength.SUPPORTED),
        (600, 0, Strength.ESTABLISHED),
    ],
)
def test_memory_near_its_limit_weakens_it(
    tmp_path: Path, mib: int, oom: int | None, strength: Strength
) -> None:
    run = Run(tmp_path / "run")
    run.fit()
    run.samples(8, rss_bytes=mib * MIB, phase="step", step=5, fit=1)
    run.ended(signal="SIGKILL", oom=oom)
    assert (run.first().cause, run.first().strength) == ("killed-from-outside", strength)


def test_memory_near_its_limit_without_a_counter_is_a_kill_for_memory(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    run.samples(8, rss_bytes=1990 * MIB, phase="step", step=5, fit=1)
    run.ended(signal="SIGKILL", oom=None)
    assert run.first().cause == "killed-for-memory"


@pytest.mark.parametrize(
    ("signal", "title", "remedy"),
    [
        ("SIGXCPU", "killed-from-outside.cpu-time", "limit.raise-cpu-time"),
        ("SIGUSR1", "killed-from-outside.warned", "signal.handle"),
        ("SIGUSR2", "killed-from-outside.warned", "signal.handle"),
    ],
)
def test_signals_of_schedulers_and_limits(tmp_path: Path, signal: str, title: str, remedy: str) -> None:
    run = Run(tmp_path / "run")
    run.fit()
    run.probe(ev.ExceptionRaised(type="ValueError", message="long ago", left="fit", process="main"))
    run.ended(None, signal)
    first = run.first()
    assert (first.cause, first.title.kind, first.strength) == (
        "killed-from-outside", title, Strength.ESTABLISHED,
    )  # fmt: skip
    assert remedies(first)[0] == remedy


@pytest.mark.parametrize(
    ("limit_s", "used_s", "used_up"), [(15, 14.9, True), (15, 3.0, False), (None, 900.0, False)]
)
def test_the_hard_limit_on_cpu_time_ends_by_sigkill(
    tmp_path: Path, limit_s: int | None, used_s: float, used_up: bool
) -> None:
    first = _ended(tmp_path, limit_s=limit_s, user_s=used_s, system_s=0.1).first()
    assert first.title.kind == ("killed-from-outside.cpu-time" if used_up else "killed-from-outside")
    if used_up:
        assert facts(first)["limit.cpu-time"] == {"used_s": 15.0, "limit_s": 15}


def test_a_signal_that_it_sent_itself_and_handled_is_not_the_one_that_ended_it(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    run.fit()
    run.probe(ev.SelfSignalled(signal="SIGUSR1", where="train.py:14"))
    run.ended(signal="SIGKILL")
    assert run.first().cause == "killed-from-outside"


@pytest.mark.parametrize("trains", [True, False])
def test_a_wrapper_that_was_killed_while_the_training_is_running(tmp_path: Path, trains: bool) -> None:
    pid = os.getpid() if trains else 1  # as the journal has it; a helper such as TensorBoard does not train
    first = _ended(tmp_path, left_running=[{"pid": pid, "command": "python work.py"}]).first()
    assert (first.cause, first.strength) == ("killed-from-outside", Strength.ESTABLISHED)
    if trains:
        assert first.title.kind == "killed-from-outside.training-left"
        assert first.title.values == {"pid": pid, "command": "python work.py"}
        assert remedies(first)[0] == "wrapper.exec"
    else:
        assert first.title.kind == "killed-from-outside"
