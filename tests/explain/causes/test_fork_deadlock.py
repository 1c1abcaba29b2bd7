"""A forked process that waits for a lock, or inside the framework; and idle workers, which wait too."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.explain import Strength
from holdfast.journal import events as ev
from holdfast.journal.stack_files import Frame, ProcessStacks, Thread
from tests.explain.made import MIB, TENSORFLOW, Run, facts, main_in_fit, native, python_thread, user

_MULTIPROCESSING = "/usr/lib/python3.11/multiprocessing/"
_IDLE = (
    Frame(_MULTIPROCESSING + "synchronize.py", 95, "SemLock.__enter__"),
    Frame(_MULTIPROCESSING + "queues.py", 364, "SimpleQueue.get"),
    Frame(_MULTIPROCESSING + "pool.py", 114, "worker"),
)
_FORK = Frame(_MULTIPROCESSING + "popen_fork.py", 71, "Popen._launch")


def _child(*frames: Frame) -> ProcessStacks:
    return ProcessStacks(
        pid=4100, name="python", state="S", threads=[python_thread(4100, *frames, main=True)]
    )


def example(run: Run) -> None:
    run.probe(
        ev.WorkersStarted(
            by="multiprocessing.Process", method="fork", count=1, after_framework=True, where="train.py:22"
        )
    )
    run.fit()
    run.stalled("data-wait", main_in_fit(), others=(_child(user(17, "work", "with lock:")),))
    run.stopped()


def near_miss(run: Run) -> None:
    """An idle worker of a pool waits for work: a lock too, and no fault."""
    run.fit()
    run.stalled("data-wait", main_in_fit(), native(wait="wait_for_partner"), others=(_child(*_IDLE),))
    run.stopped()


@pytest.fixture
def run(tmp_path: Path) -> Run:
    return Run(tmp_path / "run")


def test_the_process_and_who_forked_it_are_named(run: Run) -> None:
    example(run)
    first = run.first()
    assert (first.strength, first.title.values) == (Strength.SUPPORTED, {"pid": 4100})
    assert facts(first)["thread.stalled"]["where"] == "/home/me/train.py:17 in work"
    started = facts(first)["workers.started"]
    assert (started["method"], started["count"], started["after_framework"]) == ("fork", 1, True)


def test_an_idle_worker_forked_by_the_script_is_no_deadlock_where_another_died(run: Run) -> None:
    """A forked child keeps the frames of the script."""
    run.probe(ev.WorkersStarted(by="Process", method="fork", count=2, after_framework=True))
    run.fit()
    run.supervisor(ev.WorkerGone(worker_pid=4101, name="python", lived_s=12.0, rss_bytes=700 * MIB))
    run.stalled("between", main_in_fit(), others=(_child(*_IDLE, user(12, "<module>")),))
    run.stopped()
    assert run.slugs() == ["worker-died"]


def _pool_waits(run: Run, *frames: Frame) -> None:
    """The script waits for a pool after training; the threads of a worker wait."""
    lock = {"state": "S", "wait": "futex_do_wait", "syscall": "futex forever"}
    threads = [Thread(tid=4100, main=True, frames=list(frames), **lock)]  # type: ignore[arg-type]
    threads += [Thread(tid=tid, **lock) for tid in (4101, 4102)]  # type: ignore[arg-type]
    run.fit(epochs=1)
    run.epochs([100])
    run.probe(ev.WorkersStarted(by="multiprocessing.Pool", method="fork", count=2, where="train.py:7"))
    waits = [Frame(_MULTIPROCESSING + "pool.py", 774, "get"), user(8, "<module>")]
    main = Thread(tid=4000, main=True, state="S", wait="futex_do_wait", frames=waits)
    run.stalled("after", main, others=(ProcessStacks(pid=4100, name="python", state="S", threads=threads),))
    run.stopped()


def test_a_forked_child_that_calls_tensorflow(run: Run) -> None:
    mapstar = Frame(_MULTIPROCESSING + "pool.py", 48, "mapstar")
    _pool_waits(run, Frame(TENSORFLOW, 53, "quick_execute"), user(6, "score"), mapstar, _FORK)
    assert run.first().title.kind == "fork-deadlock.framework"
    assert run.first().title.values == {"pid": 4100, "where": "/home/me/train.py:6 in score"}


def test_a_child_that_was_spawned_has_its_threads(run: Run) -> None:
    _pool_waits(run, Frame(TENSORFLOW, 53, "quick_execute"), user(6, "score"))
    assert "fork-deadlock" not in run.slugs()
