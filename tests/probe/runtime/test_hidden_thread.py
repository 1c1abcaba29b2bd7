"""Threads of the probe stand in no list of the script's."""

from __future__ import annotations

import logging
import threading
from pathlib import Path

import pytest

from holdfast.journal.events import ExitStarted, ProbeFailed
from holdfast.probe.runtime import hidden_thread
from tests.waiting import PATIENCE_S

from ..probed import pretend_torch, run

_TRAINS = "import threading, torch\noptimizer = torch.optim.Optimizer()\noptimizer.step()\n"


@pytest.mark.parametrize(
    "waits",
    [
        "for thread in threading.enumerate():\n    if thread is not threading.current_thread(): thread.join(20)\n"
        "    assert thread is threading.current_thread() or not thread.is_alive()\n",
        "assert threading.active_count() == 1, threading.enumerate()\n",
    ],
    ids=["joins all", "counts"],
)
def test_a_script_that_waits_for_all_threads_is_not_kept_waiting(tmp_path: Path, waits: str) -> None:
    script = tmp_path / "train.py"
    script.write_text(_TRAINS + waits + "print('all done')\n")
    done = run(script, folder=tmp_path / "run", path=(pretend_torch(tmp_path / "packages"),), cwd=tmp_path)
    assert (done.code, done.output) == (0, "all done\n")
    assert done.one(ExitStarted).steps == 1
    assert done.all(ProbeFailed) == []


def test_the_thread_does_its_work_and_is_waited_for() -> None:
    done: list[tuple[str, int]] = []
    thread = hidden_thread.HiddenThread(lambda word: done.append((word, threading.active_count())), "looked")
    before = threading.active_count()
    thread.join(PATIENCE_S)
    assert done == [("looked", before)]


def test_a_thread_that_logs_is_taken_out_of_the_list_again() -> None:
    names: list[int] = []

    def work() -> None:
        logging.getLogger("holdfast.test").debug("a record asks for the thread's name")
        threading.current_thread()
        names.append(threading.active_count())
        hidden_thread.forget()
        names.append(threading.active_count())

    before = threading.active_count()
    hidden_thread.HiddenThread(work).join(PATIENCE_S)
    assert names == [before + 1, before]


def test_leaving_a_thread_that_is_not_listed_does_not_list_it(tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text(
        "import sys, threading, time, _thread, torch\n"
        "over = threading.Event()\n"
        "def work():\n    try:\n        sys.exit(3)\n    finally:\n        over.set()\n        time.sleep(30)\n"
        "_thread.start_new_thread(work, ())\n"
        "over.wait()\n"
        "print(threading.active_count())\n"
    )
    done = run(script, folder=tmp_path / "run", path=(pretend_torch(tmp_path / "packages"),), cwd=tmp_path)
    assert done.output == "1\n"
