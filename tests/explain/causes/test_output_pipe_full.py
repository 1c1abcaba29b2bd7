"""A write that blocks: which pipe, who should read it, which line made it."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.explain import Strength
from holdfast.journal.stack_files import Frame, ProcessStacks, Thread
from tests.explain.made import TENSORFLOW, Run, facts, main_in_fit, native, python_thread, user

_LAUNCH = "/home/me/launch.py"
_POOL = Frame("/usr/lib/python3.11/multiprocessing/connection.py", 384, "_send")


def _printing(pipe: str, *frames: Frame) -> Thread:
    call = f"write fd=1 ({pipe})"
    return Thread(tid=4000, main=True, state="S", wait="anon_pipe_write", syscall=call, frames=list(frames))


def example(run: Run) -> None:
    run.fit()
    frames = user(15, "report", "print(line)"), Frame(TENSORFLOW, 1, "fit"), user(30, "<module>")
    run.stalled("callback", _printing("pipe:[5]", *frames))
    run.stopped()


def near_miss(run: Run) -> None:
    """A worker of a pool in its own pipe."""
    run.fit()
    send = python_thread(4100, _POOL, wait="anon_pipe_write", syscall="write fd=11 (pipe:[6])")
    child = ProcessStacks(pid=4100, name="python", state="S", threads=[send])
    run.stalled("data-wait", main_in_fit(), native(wait="wait_for_partner"), others=(child,))
    run.stopped()


@pytest.fixture
def run(tmp_path: Path) -> Run:
    return Run(tmp_path / "run")


def test_the_launcher_that_does_not_read_is_named_with_its_line(run: Run) -> None:
    waiting = Frame("/usr/lib/python3.11/subprocess.py", 2047, "_try_wait")
    frames = [waiting, Frame(_LAUNCH, 6, "launch", "p.wait()")]
    waits = Thread(tid=3999, main=True, state="S", wait="do_wait", syscall="wait4", frames=frames)
    launcher = ProcessStacks(
        pid=3999, name="python", command="python launch.py", state="S", threads=[waits], reads=["pipe:[77]"],
        makes_pipes=[f"{_LAUNCH}:4"],
    )  # fmt: skip
    run.stalled("between", _printing("pipe:[77]", user(9, "<module>", "print(loss)")), others=(launcher,))
    run.stopped()
    first = run.first()
    assert (first.cause, first.strength) == ("output-pipe-full", Strength.ESTABLISHED)
    assert first.title.values == {
        "to": "stdout",
        "where": "/home/me/train.py:9 in <module>",
        "made_at": f"{_LAUNCH}:4",
    }
    assert facts(first)["pipe.not-read"] == {
        "pid": 3999,
        "command": "python launch.py",
        "where": f"{_LAUNCH}:6 in launch",
    }


def test_a_pipe_of_the_users_own_that_its_reader_does_not_read(run: Run) -> None:
    writes = user(5, "on_train_batch_end", "sink.stdin.write(line)")
    main = main_in_fit(writes, wait="", syscall="write fd=7 (pipe:[78])")
    sink = ProcessStacks(pid=4200, name="python", command="python sink.py", state="S", reads=["pipe:[78]"])
    run.stalled("callback", main, others=(sink,))
    run.stopped()
    assert run.first().cause == "output-pipe-full"
    assert run.first().title.values["to"] == "pipe"
    assert run.first().title.values["where"] == "/home/me/train.py:5 in on_train_batch_end"


def test_a_pools_own_pipe_is_a_symptom(run: Run) -> None:
    worker = ProcessStacks(pid=4200, name="python", command="python", state="S", reads=["pipe:[78]"])
    feeds = main_in_fit(_POOL, wait="", syscall="write fd=7 (pipe:[78])")
    run.stalled("step", feeds, others=(worker,))
    run.stopped()
    assert "output-pipe-full" not in run.slugs()
