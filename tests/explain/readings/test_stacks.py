"""The user's own files are named from the folder on that the command was started in."""

from __future__ import annotations

import pytest

from holdfast.explain.readings.stacks import read_stacks
from holdfast.journal.stack_files import Capture, Frame, ProcessStacks, StackSnapshot, Thread


@pytest.mark.parametrize(
    ("file", "started_in", "named"),
    [
        ("/home/me/train.py", "/home/me", "train.py"),
        ("/home/me/lib/data.py", "/home/me/", "lib/data.py"),
        ("/home/me2/train.py", "/home/me", "/home/me2/train.py"),
        ("/home/me/train", "/home/me", "/home/me/train"),
        (
            "/home/me/.venv/lib/python3.11/site-packages/keras/x.py",
            "/home/me",
            "/home/me/.venv/lib/python3.11/site-packages/keras/x.py",
        ),
        ("/home/me/train.py", "", "/home/me/train.py"),
        ("/train.py", "/", "/train.py"),
    ],
)
def test_a_frame_of_a_capture(file: str, started_in: str, named: str) -> None:
    thread = Thread(tid=1, frames=[Frame(file, 3, "load")])
    capture = Capture(looks=[StackSnapshot(0.0, [ProcessStacks(pid=1, threads=[thread])])])
    found = read_stacks(capture, source="stacks/1.json", started_in=started_in)
    assert found is not None
    assert found.process.threads[0].frames == (Frame(named, 3, "load"),)
