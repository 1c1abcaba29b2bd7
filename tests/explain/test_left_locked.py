"""A lock that a thread took with it when it ended."""

from __future__ import annotations

from pathlib import Path

from holdfast.explain import Finding, Strength
from holdfast.journal import events as ev
from holdfast.journal.stacks import Frame, Thread
from tests.explain.made import KERAS, Run, main_in_fit, python_thread, sentence, title_of, user


def _main(code: str) -> Thread:
    frames = [user(19, "on_epoch_end", code), Frame(KERAS, 399, "fit"), user(30, "<module>")]
    return main_in_fit(frames=frames, syscall="futex for ever")


def _stalled(path: Path, *threads: Thread) -> Finding:
    run = Run(path)
    run.fit()
    run.probe(ev.ExceptionRaised(type="ValueError", message="no", left="thread", user_line="train.py:16"))
    run.stalled("callback", *threads)
    run.stopped()
    return run.verdict().findings[0]


def test_the_thread_that_ended_is_named(tmp_path: Path) -> None:
    found = _stalled(tmp_path / "run", _main("with LOCK: print(e)"))
    assert (found.cause, found.strength) == ("deadlock", Strength.SUPPORTED)
    assert sentence(found.because[-1]) == (
        "a thread had ended with ValueError at train.py:16: a lock that it had taken then stays taken"
    )


def test_threads_that_want_the_same_lock_do_not_wait_for_one_another(tmp_path: Path) -> None:
    other = python_thread(4002, user(25, "log", "LOCK.acquire()"), syscall="futex for ever")
    found = _stalled(tmp_path / "run", _main("with LOCK:"), other)
    assert title_of(found).startswith("a thread waits for a lock that nobody releases")
    assert found.strength == Strength.SUPPORTED


def test_threads_that_want_two_locks_do(tmp_path: Path) -> None:
    other = python_thread(4002, user(25, "log", "with SECOND:"), syscall="futex for ever")
    found = _stalled(tmp_path / "run", _main("with FIRST:"), other)
    assert title_of(found).startswith("threads wait for one another's locks")
    assert found.strength == Strength.ESTABLISHED
