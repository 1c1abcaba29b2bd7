"""A crash in native code: its signal, its line, and what it is not."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from holdfast.explain import Strength
from holdfast.journal import events as ev
from tests.explain.causes import test_disk_full
from tests.explain.made import GIB, MIB, Run, facts, remedies

_IN_PYTHON = """Fatal Python error: Segmentation fault

Current thread 0x00007f3c (most recent call first):
  File "/usr/lib/python3.11/ctypes/__init__.py", line 519 in string_at
  File "/home/me/train.py", line 10 in on_train_batch_end
  File "/venv/lib/python3.11/site-packages/keras/src/callbacks/callback_list.py", line 107 in on_train_batch_end

Thread 0x00007f3d (most recent call first):
  File "/usr/lib/python3.11/threading.py", line 331 in wait
"""
NOT_IN_PYTHON = """Fatal Python error: Segmentation fault

Thread 0x00007f2a00efa6c0 (most recent call first):
  File "/usr/lib/python3.11/threading.py", line 331 in wait

Thread 0x00007f2a4e1c1b80 (most recent call first):
  File "/venv/lib/python3.11/site-packages/tensorflow/python/eager/execute.py", line 53 in quick_execute
  File "/home/me/train.py", line 4 in <module>

Extension modules: numpy (total: 1)
"""


def example(run: Run) -> None:
    run.output(
        "Fatal Python error: Segmentation fault\n\nCurrent thread 0x1 (most recent call first):\n  File "
        '"/home/me/train.py", line 12 in resize\n'
    )
    run.samples(5, rss_bytes=600 * MIB, phase="step", fit=1, step=9)
    run.ended(signal="SIGSEGV")


def near_miss(run: Run) -> None:
    test_disk_full.example(run)


def fault_handler_wrote(run: Run, text: str) -> None:
    (run.path / "stacks").mkdir()
    (run.path / "stacks" / f"faulthandler-{os.getpid()}.txt").write_text(text)  # the pid of the journal


@pytest.fixture
def run(tmp_path: Path) -> Run:
    return Run(tmp_path / "run")


def test_a_crash_is_placed_at_the_line_that_led_there(run: Run) -> None:
    run.fit()
    fault_handler_wrote(run, _IN_PYTHON)
    run.ended(None, "SIGSEGV")
    first = run.first()
    where = "/home/me/train.py:10 in on_train_batch_end"
    assert (first.cause, first.strength) == ("native-crash", Strength.ESTABLISHED)
    assert first.title.values == {"signal": "SIGSEGV", "where": where, "outside": False}
    assert facts(first)["crash.fatal"]["inside"] == "/usr/lib/python3.11/ctypes/__init__.py:519 in string_at"
    assert remedies(first)[0] == "crash.look-at"


def test_a_crash_outside_of_python_shows_where_the_main_thread_was(run: Run) -> None:
    run.fit()
    fault_handler_wrote(run, NOT_IN_PYTHON)
    run.samples(5, rss_bytes=2 * GIB, virtual_bytes=4 * GIB, phase="fill")
    run.ended(signal="SIGSEGV")
    first = run.first()
    assert (first.cause, first.strength) == ("native-crash", Strength.ESTABLISHED)
    assert (first.title.values["where"], first.title.values["outside"]) == (
        "/home/me/train.py:4 in <module>",
        True,
    )


def test_without_any_word_the_fault_handler_is_recommended(run: Run) -> None:
    run.ended(signal="SIGSEGV", core_dumped=True)
    assert facts(run.first())["crash.signal"] == {"signal": "SIGSEGV", "core_dumped": True}
    assert "steps.none" in facts(run.first())
    assert remedies(run.first())[0] == "crash.use-faulthandler"


def test_a_crash_after_an_error_that_was_caught(run: Run) -> None:
    run.probe(ev.FitStarted(fit=1, epochs=3, planned_steps_per_epoch=100))
    message = (
        "OOM when allocating tensor with shape[64,512,512,64] and type float on "
        "/job:localhost/device:GPU:0 by allocator GPU_0_bfc"
    )
    run.probe(ev.ExceptionRaised(type="ResourceExhaustedError", message=message, left="fit"))
    run.probe(ev.FitDone(fit=1, raised="ResourceExhaustedError", epochs=1))
    run.probe(ev.FitStarted(fit=2, epochs=3, planned_steps_per_epoch=200))
    run.epochs([200] * 3, fit=2)
    run.ended(signal="SIGSEGV")
    assert "native-crash" in run.blamed() and "device-memory-exhausted" not in run.blamed()
