"""Batches come in order whatever the threads do; leaving early and errors end them; buffers are used again."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from tests.pipeline.rectangles import random_rectangles
from tests.waiting import PATIENCE_S

from holdfast.pipeline import dataset_columns
from holdfast.pipeline.batch_buffers import BatchBuffers
from holdfast.pipeline.batch_threads import BatchJob, BatchThreads
from holdfast.pipeline.decode import Undecodable
from holdfast.pipeline.feed import Feed
from holdfast.pipeline.stream import Stream


def jobs_of(
    count: int, draw: Callable[[int, int], None], started: list[int] | None = None
) -> Iterator[BatchJob]:
    for number in range(count):
        if started is not None:
            started.append(number)
        yield BatchJob({"number": number}, 4, lambda at, number=number: draw(number, at))


def test_jobs_come_in_order_though_the_first_is_the_slowest() -> None:
    others_drawn = threading.Event()

    def draw(number: int, at: int) -> None:
        if number == 0:
            assert others_drawn.wait(PATIENCE_S)
        elif (number, at) == (1, 3):
            others_drawn.set()

    filled = BatchThreads(jobs_of(7, draw), threads=5, ahead=3).filled()
    assert [job.arrays["number"] for job in filled] == list(range(7))


@pytest.mark.parametrize("threads", [1, 3])
def test_no_more_than_ahead_are_under_way(threads: int) -> None:
    started: list[int] = []
    filled = BatchThreads(jobs_of(50, lambda *_: None, started), threads=threads, ahead=3).filled()
    for taken, _job in enumerate(filled, start=1):
        assert len(started) <= taken + 3
    assert taken == 50


def test_an_error_in_a_thread_is_raised_where_the_batches_are_taken() -> None:
    def draw(number: int, at: int) -> None:
        if (number, at) == (2, 1):
            raise MemoryError("not enough")

    taken = []
    with pytest.raises(MemoryError, match="not enough"):
        for job in BatchThreads(jobs_of(9, draw), threads=2, ahead=4).filled():
            taken.append(job.arrays["number"])
    assert taken == [0, 1]


def test_an_error_of_the_plan_comes_after_the_batches_before_it() -> None:
    def planned() -> Iterator[BatchJob]:
        yield from jobs_of(2, lambda *_: None)
        raise ValueError("no plan")

    taken = []
    with pytest.raises(ValueError, match="no plan"):
        for job in BatchThreads(planned(), threads=2, ahead=3).filled():
            taken.append(job.arrays["number"])
    assert taken == [0, 1]


def test_what_cannot_be_decoded_is_noted_with_its_place() -> None:
    def draw(number: int, at: int) -> None:
        if at == 2:
            raise Undecodable(f"{number}")

    found = [job.undecodable for job in BatchThreads(jobs_of(3, draw), threads=2, ahead=2).filled()]
    assert [{at: str(why) for at, why in one.items()} for one in found] == [{2: "0"}, {2: "1"}, {2: "2"}]


def test_a_batch_is_placed_once_when_it_is_filled_and_what_comes_back_is_handed_on() -> None:
    placed: list[tuple[int, str]] = []

    def place(arrays: dict) -> dict:
        placed.append((arrays["number"], threading.current_thread().name))
        return {"number": -arrays["number"]}

    def draw(number: int, at: int) -> None:
        if (number, at) == (2, 3):
            raise Undecodable("cut short")

    jobs = (BatchJob({"number": n}, 4, lambda at, n=n: draw(n, at), place) for n in range(5))
    filled = BatchThreads(jobs, threads=3, ahead=3).filled()
    assert [job.arrays["number"] for job in filled] == [0, -1, 2, -3, -4]
    assert sorted(number for number, _ in placed) == [0, 1, 3, 4]
    assert all(name.startswith("holdfast-images-") for _, name in placed)


def test_an_error_while_a_batch_is_placed_is_raised_where_it_is_taken() -> None:
    def place(arrays: dict) -> dict:
        raise RuntimeError("no device")

    with pytest.raises(RuntimeError, match="no device"):
        next(BatchThreads(iter([BatchJob({}, 2, lambda _: None, place)]), threads=2, ahead=3).filled())


def test_leaving_early_ends_the_threads() -> None:
    threads = BatchThreads(jobs_of(1000, lambda *_: None), threads=3, ahead=3)
    filled = threads.filled()
    next(filled)
    filled.close()
    threads.wait(PATIENCE_S)
    assert not any(thread.is_alive() for thread in threads._threads)


def test_a_buffer_is_used_again_only_when_no_view_of_it_is_left() -> None:
    buffers = BatchBuffers((2, 3))
    one = buffers.take()
    one[...] = 1
    view = one[1][:2]
    del one
    other = buffers.take()
    other[...] = 2
    assert view.tolist() == [1, 1]
    address = other.ctypes.data
    del other
    assert buffers.take().ctypes.data == address


def test_batches_that_are_kept_do_not_change(folder_of: Callable) -> None:
    data = dataset_columns.columns_of(folder_of(random_rectangles(6), ".jpg"))
    feed = Feed(height=40, width=40, batch=2, seed=3)
    kept = [batch for _, batch in zip(range(12), Stream(data, feed, threads=3).batches(), strict=False)]
    for step, batch in enumerate(kept):
        again = next(Stream(data, feed, threads=1).batches(step))
        assert np.array_equal(batch["images"], again["images"])


PROGRAM = """
    import os, sys, threading
    from holdfast.pipeline.batch_threads import BatchJob, BatchThreads
    from holdfast.pipeline.feed import Feed

    wait = threading.Event()
    def draw(at):
        if sys.argv[1] == "blocked":
            os.read(READ, 1)  # as from a storage that does not answer
        elif sys.argv[1] == "waits":
            wait.wait()
    READ, _ = os.pipe()
    jobs = (BatchJob({}, 2, draw) for _ in range(10**9))
    batches = BatchThreads(jobs, threads=3, ahead=4).filled()
    print("started", flush=True)
    next(batches)
    if sys.argv[1] == "kept":
        keep = batches  # neither closed nor collected before the interpreter ends
    print("left", flush=True)
"""


def started(how: str) -> subprocess.Popen:
    program = [sys.executable, "-c", textwrap.dedent(PROGRAM), how]
    return subprocess.Popen(program, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def test_a_process_ends_though_its_batches_do_not() -> None:
    process = started("kept")
    out, err = process.communicate(timeout=PATIENCE_S)
    assert (process.returncode, out, err) == (0, "started\nleft\n", "")


@pytest.mark.parametrize("how", ["waits", "blocked"])
def test_ctrl_c_ends_the_wait_for_a_batch(how: str) -> None:
    process = started(how)
    assert process.stdout is not None and process.stdout.readline() == "started\n"
    waits_for = Path(f"/proc/{process.pid}/task")
    while len(os.listdir(waits_for)) < 4:  # its threads are there
        pass
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == -signal.SIGINT and "KeyboardInterrupt" in err
