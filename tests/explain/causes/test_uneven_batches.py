"""Processes of a group with unequal numbers of batches."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.explain import Strength
from holdfast.journal import events as ev
from holdfast.journal.stack_files import Frame, ProcessStacks
from holdfast.journal.writer import encode
from tests.explain.made import Run, facts, native, python_thread, user


def example(run: Run) -> None:
    run.raised("RuntimeError", "Inconsistent number of batches: rank 0 has 11, rank 1 has 10")


def near_miss(run: Run) -> None:
    run.raised("RuntimeError", "the batch is uneven")


def test_the_coordinator_counts_the_steps_of_each(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    run.fit()
    run.supervisor(ev.GroupRemark(remark="apart", text="steps differ", rank_steps={"0": 11, "1": 10}))
    run.ended(signal="SIGKILL", stopped_by_us="stall")
    finding = next(one for one in run.verdict().findings if one.cause == "uneven-batches")
    assert facts(finding)["group.steps"] == {"by_rank": {"0": 11, "1": 10}}


_TORCH = "/venv/lib/python3.11/site-packages/torch/"
_JOINS = (
    Frame("/usr/lib/python3.11/multiprocessing/connection.py", 947, "wait"),
    Frame(_TORCH + "multiprocessing/spawn.py", 140, "ProcessContext.join"),
    user(81, "<module>", "mp.spawn(work, nprocs=2)"),
)
_BARRIER = Frame(_TORCH + "distributed/distributed_c10d.py", 5356, "barrier")


def _in_child(run: Run, pid: int, *events: ev.Event) -> None:
    with (run.path / "journal.jsonl").open("ab") as journal:
        for event in events:
            journal.write(encode(event, at=1_799_999_100.0, mono=200.0, by="probe", pid=pid, attempt=1))


def _trains(run: Run, pid: int, passes: list[int], length: int | None = None) -> None:
    seen = ev.DatasetSeen(type="torch", cardinality=length, where="train.py:56")
    done = [ev.PassDone(number=number, steps=steps) for number, steps in enumerate(passes, 1)]
    _in_child(run, pid, seen, ev.LoopSeen(by="torch_optimizer", where="train.py:60"), *done)


def _child(pid: int, *frames: Frame, group: bool = True) -> ProcessStacks:
    thread = python_thread(pid, *frames, main=True)
    threads = [thread, native(pid + 50, name="pt_gloo_runloop" if group else "python")]
    return ProcessStacks(pid=pid, parent=4000, name="python", state="S", threads=threads)


def _stalls(run: Run, *, group: bool = True) -> None:
    waits = (_BARRIER, user(64, "work", "dist.barrier()")) if group else (user(64, "work", "other.get()"),)
    run.stalled(
        "build",
        python_thread(4000, *_JOINS, main=True),
        others=(
            _child(4101, *waits, group=group),
            _child(4102, user(59, "work", "loss.backward()"), group=group),
        ),
    )
    run.stopped()


@pytest.mark.parametrize(
    ("one", "other"),
    [(([61, 61], 61), ([65], 65)), (([61], None), ([65], None)), (([61], 61), ([], 65))],
)
def test_processes_with_other_numbers_of_batches(
    tmp_path: Path, one: tuple[list[int], int | None], other: tuple[list[int], int | None]
) -> None:
    run = Run(tmp_path / "run")
    _trains(run, 4101, *one)
    _trains(run, 4102, *other)
    _stalls(run)
    first = run.first()
    assert (first.cause, first.strength) == ("uneven-batches", Strength.SUPPORTED)
    assert facts(first)["group.batches"] == {"by_process": {"4101": 61, "4102": 65}}
    assert "peer-missing" not in run.slugs()


def test_processes_with_equal_numbers_are_not_said_to_differ(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    _trains(run, 4101, [61, 61], 61)
    _trains(run, 4102, [61, 61], 61)
    _stalls(run)
    assert run.first().title.values == {"where": "/home/me/train.py:59 in work", "steps": False}
    assert "uneven-batches" not in run.slugs()


def test_processes_side_by_side_are_no_group(tmp_path: Path) -> None:
    """Two trainings that one script has started, each on its own data."""
    run = Run(tmp_path / "run")
    _trains(run, 4101, [61, 61], 61)
    _trains(run, 4102, [65], 65)
    _stalls(run, group=False)
    assert "uneven-batches" not in run.slugs()


_CLOSED = "[gloo/transport/tcp/pair.cc:547] Connection closed by peer [127.0.0.1]:40122"


@pytest.mark.parametrize(("ended_with", "found"), [("exit code 0", True), ("SIGKILL", False)])
def test_a_process_that_is_done_and_gone(tmp_path: Path, ended_with: str, found: bool) -> None:
    run = Run(tmp_path / "run")
    _trains(run, 4101, [61, 61], 61)
    _trains(run, 4102, [65], 65)
    run.supervisor(ev.WorkerGone(worker_pid=4101, name="python", lived_s=20.0, last_state=ended_with))
    run.raised("ProcessRaisedException", f"RuntimeError: {_CLOSED}")
    assert (run.first().cause == "uneven-batches") is found


def test_a_launcher_that_raises_at_the_signal_which_ended_the_stall(tmp_path: Path) -> None:
    """As torchrun does: its exception, and that it moved to end, follow from our signal."""
    run = Run(tmp_path / "run")
    _trains(run, 4101, [44], 44)
    _trains(run, 4102, [], 50)
    _stalls(run)
    end = (run.path / "journal.jsonl").read_bytes().splitlines(keepends=True)
    (run.path / "journal.jsonl").write_bytes(b"".join(end[:-1]))
    run.supervisor(ev.SignalSent(signal="SIGTERM", to_pid=4000, why="it stalled"))
    run.probe(
        ev.ExceptionRaised(type="SignalException", message="got signal: 15", left="script", caught=False)
    )
    run.supervisor(ev.StallEnded(silent_for_s=108.0))
    run.ended(1, stopped_by_us="stall")
    assert run.slugs() == ["uneven-batches"]
