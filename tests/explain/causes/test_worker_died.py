"""A loader process that died, a pipe that broke with it, a thread that ended with an exception."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.explain import Strength
from holdfast.journal import events as ev
from holdfast.journal.stack_files import Frame
from tests.explain.made import MIB, Run, facts, main_in_fit, python_thread, remedies, user

_POOL = Frame("/usr/lib/python3.11/multiprocessing/pool.py", 774, "get")
IN_MULTIPROCESSING = (
    "train.py:4 <module>",
    "torch/utils/data/dataloader.py:1291 _try_get_data",
    "torch/multiprocessing/reductions.py:538 rebuild_storage_fd",
    "multiprocessing/connection.py:395 _recv",
)


def with_worker(run: Run, *, oom: bool = False) -> None:
    """Two workers, of which one ends."""
    run.probe(ev.WorkersStarted(by="PyDataset", method="spawn", count=2))
    run.fit(data=ev.DatasetSeen(type="py_dataset", workers=2, multiprocessing=True, cardinality=100))
    run.supervisor(
        ev.WorkerGone(worker_pid=4100, name="python", lived_s=12.0, rss_bytes=700 * MIB, oom_kills_rose=oom)
    )


def example(run: Run) -> None:
    with_worker(run)
    run.stalled("data-wait", main_in_fit(), python_thread(4002, _POOL))
    run.stopped()


def near_miss(run: Run) -> None:
    """Workers that end with their epoch."""
    with_worker(run)
    run.epochs([100, 100, 100])
    run.ended(0)


@pytest.fixture
def run(tmp_path: Path) -> Run:
    return Run(tmp_path / "run")


def _stall_after(run: Run, *seen: ev.Event) -> None:
    run.probe(ev.WorkersStarted(by="PyDataset", method="fork", count=2))
    run.fit()
    run.probe(*seen)


def test_the_dead_process_is_described(run: Run) -> None:
    example(run)
    assert run.first().title.values == {"waits": True}
    assert facts(run.first())["worker.ended"] == {
        "pid": 4100, "name": "python", "ended_with": "", "lived_s": 12.0, "rss_bytes": 700 * MIB,
        "oom_kills_rose": False,
    }  # fmt: skip
    assert facts(run.first())["stall.silent"] == {"seconds": 90.0, "phase": "data-wait"}


def test_a_worker_that_crashed_between_two_looks_is_known_from_its_parent(run: Run) -> None:
    _stall_after(
        run,
        ev.WorkerGone(worker_pid=4711, name="a worker", lived_s=0.4, last_state="SIGSEGV"),
        ev.WorkerCrashed(worker_pid=4711, what="Segmentation fault", where="train.py:9 in __getitem__"),
    )
    run.stalled("data-wait", main_in_fit(), python_thread(4002, _POOL))
    run.stopped()
    first = run.first()
    assert (first.cause, first.strength) == ("worker-died", Strength.ESTABLISHED)
    assert facts(first)["worker.ended"]["ended_with"] == "SIGSEGV"
    assert facts(first)["worker.crashed"] == {
        "what": "Segmentation fault",
        "where": "train.py:9 in __getitem__",
    }
    assert remedies(first)[0] == "worker.fix-the-crash"  # a crash in a thread ends the whole process


def test_a_worker_that_supervisor_and_parent_report_is_named_once(run: Run) -> None:
    _stall_after(run, ev.WorkerGone(worker_pid=4711, name="a worker", lived_s=2.9, last_state="exit code 3"))
    run.supervisor(
        ev.WorkerGone(worker_pid=4711, name="python", rss_bytes=250 * MIB, lived_s=3.0, last_state="S")
    )
    run.stalled("data-wait", main_in_fit(), python_thread(4002, _POOL))
    run.stopped()
    ended = [fact.values for fact in run.first().because if fact.kind == "worker.ended"]
    assert [(one["ended_with"], one["rss_bytes"], one["lived_s"]) for one in ended] == [
        ("exit code 3", 250 * MIB, 3.0)
    ]


def test_a_worker_that_ended_itself_has_its_line(run: Run) -> None:
    _stall_after(run, ev.WorkerExitCalled(worker_pid=4101, code=3, where="train.py:6"))
    run.supervisor(ev.WorkerGone(worker_pid=4101, name="python", lived_s=8.0, last_state="exit code 3"))
    run.supervisor(ev.Stalled(phase="step", step=18, silent_for_s=37.0))
    run.stopped()
    assert run.first().cause == "worker-died"
    assert facts(run.first())["worker.exited"] == {"where": "train.py:6"}


def test_another_program_that_ended_long_before_is_only_possible(run: Run) -> None:
    run.fit()
    run.supervisor(ev.WorkerGone(worker_pid=4101, name="tar", lived_s=8.0, last_state="exit code 1"))
    run.stalled("step", main_in_fit())
    run.stopped()
    assert "worker-died" in run.slugs() and "worker-died" not in run.blamed()


def test_a_thread_that_ended_with_an_exception_is_the_root_of_the_wait_for_its_queue(run: Run) -> None:
    run.fit()
    run.probe(
        ev.ExceptionRaised(
            type="IndexError", message="list index out of range", left="thread", user_line="train.py:12",
            user_code="q.put(rows[i])", process="main",
        )
    )  # fmt: skip
    queue = Frame("/usr/lib/python3.11/queue.py", 171, "Queue.get")
    run.stalled("step", main_in_fit(), python_thread(4002, queue, user(15, "gen", "yield q.get()")))
    run.stopped()
    first = run.first()
    assert (first.title.kind, first.strength) == ("worker-died.thread", Strength.ESTABLISHED)
    assert first.title.values == {"error": "IndexError", "where": "train.py:12"}
    assert facts(first)["thread.stalled"]["where"] == "/home/me/train.py:15 in gen"
    assert "input-blocked" not in run.slugs()


@pytest.mark.parametrize(("workers", "strength"), [(2, Strength.ESTABLISHED), (None, Strength.SUPPORTED)])
def test_a_pipe_between_processes_that_breaks_is_a_process_that_died(
    run: Run, workers: int | None, strength: Strength
) -> None:
    run.fit(data=ev.DatasetSeen(type="torch", python_fed=True, workers=workers))
    run.raised(
        "ConnectionResetError", "[Errno 104] Connection reset by peer", frames=list(IN_MULTIPROCESSING)
    )
    first = run.first()
    assert (first.title.kind, first.strength) == ("worker-died.while-read", strength)
    assert facts(first)["error.in-multiprocessing"]["frame"] == IN_MULTIPROCESSING[-1]
    assert run.slugs() == ["worker-died"]


def test_a_pool_that_raises_is_not_recommended_again(run: Run) -> None:
    message = "A process in the process pool was terminated abruptly while the future was running or pending."
    run.raised("BrokenProcessPool", message)
    assert run.first().cause == "worker-died"
    assert remedies(run.first()) == ["worker.use-fewer-or-threads"]


def test_a_thread_whose_end_was_only_printed(tmp_path: Path) -> None:
    """As in a process that was attached to, whose standard error goes to a file."""
    run = Run(tmp_path / "run", watch="attached")
    run.output(
        'Exception in thread filler:\nTraceback (most recent call last):\n  File "/usr/lib/python3.11/threading.py", '
        'line 982, in run\n    self._target()\n  File "/home/me/train.py", line 20, in fill\n    rows[number]\n'
        "IndexError: list index out of range\n"
    )
    queue = Frame("/usr/lib/python3.11/queue.py", 171, "get")
    run.stalled("data-wait", main_in_fit(), python_thread(4002, queue, user(31, "examples")))
    finding = run.first()
    assert (finding.cause, finding.strength) == ("worker-died", Strength.SUPPORTED)
    assert finding.title.values == {"error": "IndexError", "where": "/home/me/train.py:20"}
    assert facts(finding)["thread.raised"]["code"] == "rows[number]"


_PRODUCES = ev.WorkerGone(worker_pid=4100, name="python", command="python producer.py", lived_s=4.0)
_FIFO = "read fd=5 (/data/frames.fifo)"


@pytest.mark.parametrize(
    ("ended_with", "cause"),
    [
        ("exit code 0", "input-blocked"),
        ("exit code 1", "worker-died"),
        ("SIGKILL", "worker-died"),
        ("Z", "worker-died"),
    ],
)
def test_a_process_that_finished_has_not_died(run: Run, ended_with: str, cause: str) -> None:
    _stall_after(run)
    run.supervisor(_PRODUCES.changed(last_state=ended_with))
    reader = python_thread(
        4002, user(28, "frames", "head = stream.read(4)"), wait="anon_pipe_read", syscall=_FIFO
    )
    run.stalled("fill", main_in_fit(), reader)
    run.stopped()
    assert run.first().cause == cause
    assert facts(run.first())["worker.ended"]["pid"] == 4100


def test_a_worker_that_left_by_itself_has_not_finished(run: Run) -> None:
    _stall_after(run, ev.WorkerExitCalled(worker_pid=4100, code=0, where="train.py:12"))
    run.supervisor(_PRODUCES.changed(last_state="exit code 0"))
    run.stalled("data-wait", main_in_fit(), python_thread(4002, _POOL))
    run.stopped()
    assert run.first().cause == "worker-died"
