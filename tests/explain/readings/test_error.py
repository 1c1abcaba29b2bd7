"""What Python's fault handler wrote about a crash."""

from __future__ import annotations

import pytest

from holdfast.explain.readings.error import Raised, read_fatal
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


@pytest.mark.parametrize(
    "type_,message,essence",
    [
        (
            "InvalidArgumentError",
            "Graph execution error:\n\nDetected at node Assert_1/AssertGuard/Assert defined at (most recent call last):"
            "\n<stack traces unavailable>\nassertion failed: [0.3757] [0.2969]"
            "\n\t [[{{node Assert_1/AssertGuard/Assert}}]]\n"
            "\t [[while/body/_1/IteratorGetNext]] [Op:__inference__dist_train_step_1]",
            "assertion failed: [0.3757] [0.2969]",
        ),
        (
            "DataLossError",
            "Graph execution error:\n\ntruncated record at 1489069' failed with Read less bytes than requested\n"
            "\t [[{{node IteratorGetNext}}]] [Op:__inference_step_7]",
            "truncated record at 1489069' failed with Read less bytes than requested",
        ),
        (
            "InvalidArgumentError",
            "Graph execution error:\n\n2 root error(s) found.\n  (0) INVALID_ARGUMENT:  Input is empty.\n"
            "\t [[{{node DecodeJpeg}}]]\n0 successful operations.\n0 derived errors ignored. [Op:__inference_f_1]",
            "Input is empty.",
        ),
        ("ValueError", "the first line\nthe second line", "the first line"),
    ],
)
def test_the_line_that_says_most_is_none_of_those_around_it(type_: str, message: str, essence: str) -> None:
    assert Raised(type=type_, message=message, source="journal.jsonl:1").essence == essence
