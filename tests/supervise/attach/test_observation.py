"""What is noted of an attached process."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from holdfast.journal.stack_files import Frame, ProcessStacks, StackSnapshot, Thread
from holdfast.supervise.attach.observation import (
    Totals,
    observe,
    open_data_files,
    output_of,
    waits_endlessly,
)
from holdfast.supervise.attach.target import Target


@pytest.mark.parametrize(
    ("syscall", "endless"),
    [
        ("futex for ever", True),
        ("futex", False),
        ("poll", False),
        ("poll for ever", True),
        ("clock_nanosleep", False),
        ("read fd=3 (pipe:[1])", True),
        ("wait4", True),
        ("", False),
    ],
)
def test_a_wait_without_a_time_limit(syscall: str, endless: bool) -> None:
    assert waits_endlessly(syscall) is endless


def test_where_it_prints_to_and_what_it_has_open(tmp_path: Path) -> None:
    log, data = tmp_path / "train.log", tmp_path / "a.tfrecord"
    data.write_bytes(b"x")
    with log.open("wb") as out, data.open("rb") as records:
        process = subprocess.Popen(["sleep", "600"], stdout=out, stderr=out, pass_fds=(records.fileno(),))
    try:
        os.utime(log, (1, 1))
        (output,) = output_of(process.pid)
        assert (output["stream"], output["to"]) == ("output", str(log)) and output["silent_s"] > 1e6
        assert open_data_files(process.pid) == [str(data)]
    finally:
        process.kill()
        process.wait()
    assert output_of(process.pid) == [] and open_data_files(process.pid) == []


def snapshot(at: float, line: int, cpu_s: float, state: str = "S") -> StackSnapshot:
    main = Thread(
        tid=7,
        main=True,
        state=state,
        syscall="futex for ever",
        frames=[Frame("/home/me/train.py", 3, "<module>")],
    )
    loader = Thread(
        tid=8,
        name="loader",
        state="R",
        cpu_s=cpu_s,
        frames=[Frame("/home/me/data.py", line, "read", "decode(x)")],
    )
    idle = Thread(tid=9, name="tf_Compute", state="S", syscall="futex for ever")
    reader = Thread(tid=10, name="tf_data", state="S", syscall="read fd=5 (/data/a)")
    child = ProcessStacks(
        pid=20, command="ffmpeg", state="S", threads=[Thread(tid=20, main=True, syscall="wait4")]
    )
    trainer = ProcessStacks(pid=7, source="py-spy", threads=[main, loader, idle, reader])
    return StackSnapshot(at, [trainer, child])


def test_the_threads_that_matter_are_chosen() -> None:
    target = Target(7, 7, ("python", "train.py"), "/home/me", 60.0, ("tensorflow",))
    seen = observe(
        target,
        [snapshot(10.0, 5, 1.0), snapshot(12.0, 5, 3.0)],
        [],
        (Totals(10.0, 5.0, 0, 0, 100), Totals(14.0, 7.0, 4096, 0, 300)),
        idle_s=30.0,
        idle_by_thread={(7, 7): 30.0},
        gpus=[],
    )
    assert [thread["name"] for thread in seen.threads] == ["", "loader", "tf_data"]
    main, loader, reader = seen.threads
    assert main["endless"] and main["idle_s"] == 30.0
    assert loader["cpu_share"] == 1.0 and loader["code"] == "decode(x)"
    assert reader["syscall"] == "read fd=5 (/data/a)"
    assert (seen.moves, seen.idle_s, seen.cpu_share, seen.read_bytes) == (True, None, 0.5, 4096)
    assert seen.rss_grown_bytes == 200
    assert [child["command"] for child in seen.children] == ["ffmpeg"]


@pytest.mark.parametrize(
    ("states", "moves"), [(("R", "R"), True), (("R", "S"), False), (("S", "S"), False), ((), False)]
)
def test_a_process_that_gets_no_processor_moves(states: tuple[str, ...], moves: bool) -> None:
    target = Target(7, 7, ("python", "train.py"), "/home/me", 60.0, ())
    totals = Totals(10.0, 5.0, 0, 0, 100)
    looks = [snapshot(10.0 + at, 5, 1.0, state) for at, state in enumerate(states)]
    seen = observe(target, looks, [], (totals, totals), idle_s=30.0, idle_by_thread={}, gpus=[])
    assert seen.moves is moves
