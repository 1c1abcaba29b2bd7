"""Threads that wait for one another's locks, for a lock that nobody releases, and for their own pool."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.explain import Strength
from holdfast.journal import events as ev
from holdfast.journal.stack_files import Frame, ProcessStacks, Thread
from tests.explain.made import KERAS, Run, facts, main_in_fit, native, python_thread, user

_FUTURES = "/usr/lib/python3.11/concurrent/futures/"
_WAIT = Frame("/usr/lib/python3.11/threading.py", 327, "wait")


def example(run: Run) -> None:
    run.fit()
    first = python_thread(4002, user(12, "load", "with lock_b:"), name="Thread-1")
    second = python_thread(4003, user(19, "label", "with lock_a:"), name="Thread-2")
    run.stalled("fill", main_in_fit(), first, second, step=0)
    run.stopped()


def near_miss(run: Run) -> None:
    """Two threads at a queue, and a reader that waits."""
    run.fit()
    queue = [_WAIT, Frame("/usr/lib/python3.11/queue.py", 171, "get"), user(40, "pump")]
    readers = python_thread(4002, *queue), python_thread(4003, *queue)
    run.stalled("fill", main_in_fit(), *readers, native(4004, wait="wait_for_partner"), step=0)
    run.stopped()


@pytest.fixture
def run(tmp_path: Path) -> Run:
    return Run(tmp_path / "run")


def _in_callback(run: Run, code: str, *threads: Thread) -> None:
    """The main thread waits in a callback; another thread has ended with an exception."""
    run.fit()
    run.probe(ev.ExceptionRaised(type="ValueError", message="no", left="thread", user_line="train.py:16"))
    frames = [user(19, "on_epoch_end", code), Frame(KERAS, 399, "fit"), user(30, "<module>")]
    run.stalled("callback", main_in_fit(frames=frames, syscall="futex forever"), *threads)
    run.stopped()


def test_threads_that_want_two_locks_wait_for_one_another(run: Run) -> None:
    _in_callback(run, "with FIRST:", python_thread(4002, user(25, "log", "with SECOND:")))
    first = run.first()
    assert (first.title.kind, first.strength) == ("deadlock", Strength.ESTABLISHED)
    assert first.title.values == {"places": ["/home/me/train.py:19", "/home/me/train.py:25"]}
    waits = [fact.values["code"] for fact in first.because if fact.kind == "thread.stalled"]
    assert waits == ["with FIRST:", "with SECOND:"]


def test_threads_that_want_the_same_lock_do_not(run: Run) -> None:
    _in_callback(run, "with LOCK:", python_thread(4002, user(25, "log", "LOCK.acquire()")))
    assert (run.first().title.kind, run.first().strength) == ("deadlock.never-released", Strength.SUPPORTED)


def test_a_thread_that_ended_may_have_left_its_lock_taken(run: Run) -> None:
    _in_callback(run, "with LOCK: print(e)")
    first = run.first()
    assert first.title.values == {"where": "/home/me/train.py:19 in on_epoch_end"}
    raised = facts(first)["thread.raised"]
    assert (raised["error"], raised["where"]) == ("ValueError", "train.py:16")


def _pool_thread(tid: int, *inner: Frame) -> Thread:
    outer = Frame(_FUTURES + "thread.py", 58, "run"), Frame(_FUTURES + "thread.py", 83, "_worker")
    return python_thread(tid, _WAIT, *inner, *outer)


_RESULT = Frame(_FUTURES + "_base.py", 451, "result")
_WAITS_FOR_RESULT = (_RESULT, user(7, "image", "parts[0].result()"))


def _pool(run: Run, *threads: Thread, others: tuple[ProcessStacks, ...] = ()) -> None:
    run.fit()
    run.stalled("fill", main_in_fit(_RESULT, user(11, "__getitem__")), *threads, others=others)
    run.stopped()


def test_a_pool_whose_threads_wait_for_its_own_tasks(run: Run) -> None:
    _pool(run, _pool_thread(4002, *_WAITS_FOR_RESULT), _pool_thread(4003, *_WAITS_FOR_RESULT))
    assert (run.first().title.kind, run.first().strength) == ("deadlock.pool", Strength.SUPPORTED)
    assert run.first().title.values == {"where": "/home/me/train.py:7 in image"}


def test_a_pool_with_a_free_thread_is_none(run: Run) -> None:
    _pool(run, _pool_thread(4002, *_WAITS_FOR_RESULT), _pool_thread(4003))
    assert "deadlock" not in run.slugs()


def test_results_of_other_processes_may_still_come(run: Run) -> None:
    child = ProcessStacks(pid=4100, name="python", state="S", threads=[python_thread(4100)])
    _pool(run, _pool_thread(4002, *_WAITS_FOR_RESULT), others=(child,))
    assert "deadlock" not in run.slugs()


@pytest.mark.parametrize(("second", "cause"), [("put", "deadlock"), ("get", "deadlock"), ("", None)])
def test_threads_at_a_full_queue_and_at_another(run: Run, second: str, cause: str | None) -> None:
    """A reader that still works would empty the queue."""
    run.fit()
    queue = Frame("/usr/lib/python3.11/queue.py", 140, "Queue.put")
    other = [_WAIT, Frame("/usr/lib/python3.11/queue.py", 171, second), user(8, "pump")]
    thread = python_thread(4002, *(other if second else [user(8, "pump", "x = decode(x)")]))
    frames = [_WAIT, queue, user(19, "__getitem__"), Frame(KERAS, 399, "fit"), user(30, "<module>")]
    run.stalled("fill", main_in_fit(frames=frames, syscall="futex for ever"), thread, step=0)
    run.stopped()
    assert (run.first().title.kind == "deadlock.queues") is (cause is not None)
