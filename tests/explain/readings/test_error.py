"""What Python's fault handler wrote about a crash."""

from __future__ import annotations

from holdfast.explain.readings.error import read_fatal
from tests.explain.causes.test_native_crash import NOT_IN_PYTHON


def test_a_crash_in_the_garbage_collector_keeps_its_stack() -> None:
    written = (
        "Fatal Python error: Segmentation fault\n\nCurrent thread 0x00007f (most recent call first):\n"
        '  Garbage-collecting\n  File "/v/tensorflow/execute.py", line 53 in quick_execute\n'
        '  File "/home/me/train.py", line 15 in <module>\n'
    ).replace("/v/", "/v/site-packages/")
    found = read_fatal(written, source="stacks/faulthandler-1.txt")
    assert found is not None
    assert (found.inside, found.where) == (
        "/v/site-packages/tensorflow/execute.py:53 in quick_execute",
        "/home/me/train.py:15 in <module>",
    )


def test_a_crash_in_a_thread_without_python_shows_where_the_main_thread_was() -> None:
    found = read_fatal(NOT_IN_PYTHON, source="stacks/faulthandler-1.txt")
    assert found is not None
    assert not found.in_python
    assert found.where == "/home/me/train.py:4 in <module>"
    assert found.inside.endswith("execute.py:53 in quick_execute")
