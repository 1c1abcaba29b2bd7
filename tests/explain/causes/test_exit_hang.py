"""An interpreter that does not exit: because of a pool, a thread, or data fed by Python."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.journal import events as ev
from holdfast.journal.stack_files import Frame, ProcessStacks, Thread
from tests.explain.made import Run, facts, python_thread, remedies, user

_MAIN = Thread(tid=4000, main=True, state="S", wait="futex_do_wait")


def example(run: Run) -> None:
    run.fit(data=ev.DatasetSeen(type="generator", python_fed=True, cardinality=-2))
    run.probe(
        ev.FitDone(steps=8, epochs=1, raised="RuntimeError"), ev.ExitStarted(raised="RuntimeError", steps=8)
    )
    run.stalled("exit", _MAIN, step=8)
    run.stopped()


def near_miss(run: Run) -> None:
    run.fit()
    run.epochs([100, 100, 100])
    run.probe(ev.ExitStarted(exit_code=0, steps=300))
    run.ended(0)


@pytest.fixture
def run(tmp_path: Path) -> Run:
    return Run(tmp_path / "run")


def test_data_fed_by_python_and_a_fit_that_was_left_early(run: Run) -> None:
    example(run)
    assert facts(run.first())["exit.started"] == {"steps": 8, "raised": "RuntimeError"}
    assert "exit.python-fed" in facts(run.first())
    assert remedies(run.first())[0] == "exit.clear-exception"


def test_a_pool_that_is_not_done_when_the_script_is_over(run: Run) -> None:
    run.probe(ev.WorkersStarted(by="multiprocessing.Pool", method="fork", count=2, where="train.py:7"))
    run.fit(epochs=1)
    run.epochs([100])
    run.probe(ev.ExitStarted(steps=100))
    terminates = Frame("/usr/lib/python3.11/multiprocessing/pool.py", 732, "Pool._terminate_pool")
    main = Thread(tid=4000, main=True, state="S", wait="do_wait", syscall="wait4", frames=[terminates])
    busy = Thread(tid=4100, main=True, state="S", wait="hrtimer_nanosleep", frames=[user(4, "busy")])
    others = (
        ProcessStacks(pid=4100, name="python", state="S", threads=[busy]),
        ProcessStacks(pid=4101, name="python", state="Z"),
    )
    run.stalled("exit", main, others=others)
    run.stopped()
    first = run.first()
    assert (first.cause, first.title.values) == ("exit-hang", {"pool": "train.py:7"})
    running = [fact.values for fact in first.because if fact.kind == "process.still-running"]
    assert running == [{"pid": 4100, "name": "python", "where": "/home/me/train.py:4 in busy"}]
    assert remedies(first) == ["pool.terminate", "worker.limit-its-time"]


def test_a_thread_that_is_no_daemon(run: Run) -> None:
    run.fit(epochs=1)
    run.epochs([100])
    run.probe(ev.ExitStarted(steps=100))
    run.stalled("exit", _MAIN, python_thread(4002, user(9, "log")))
    run.stopped()
    assert facts(run.first())["thread.stalled"]["where"] == "/home/me/train.py:9 in log"
    assert remedies(run.first()) == ["thread.join-or-daemon"]
