"""A process that is watched and is not our child."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator

import pytest

from holdfast.supervise.watched_process import ExitStatus, WatchedProcess, decode_status
from tests.waiting import PATIENCE_S

#: Starts a process, prints its pid, and takes note of its end only when told to.
_PARENT = """
import subprocess, sys
child = subprocess.Popen(["bash", "-c", sys.argv[1]], stdin=subprocess.PIPE)
print(child.pid, flush=True)
for line in sys.stdin:
    if line == "go\\n":
        child.stdin.close()
    elif line == "reap\\n":
        child.wait()
        print("reaped", flush=True)
"""


class Family:
    """A parent and its child, which is our grandchild."""

    def __init__(self, script: str) -> None:
        self.parent = subprocess.Popen(
            [sys.executable, "-c", _PARENT, f"read; {script}"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self.parent.stdout is not None
        self.child = int(self.parent.stdout.readline())

    def tell(self, word: str) -> None:
        assert self.parent.stdin is not None
        self.parent.stdin.write(word + "\n")
        self.parent.stdin.flush()


@pytest.fixture
def family() -> Iterator[type[Family]]:
    made: list[Family] = []

    class Made(Family):
        def __init__(self, script: str) -> None:
            super().__init__(script)
            made.append(self)

    yield Made
    for one in made:
        one.parent.kill()
        one.parent.communicate()


def test_the_status_is_read_before_the_parent_takes_note(family: type[Family]) -> None:
    one = family("exit 7")
    process = WatchedProcess(one.child)
    assert process.alive and process.wait(0.01) == []
    one.tell("go")
    assert process.wait(PATIENCE_S) and not process.alive
    assert process.exit_status() == ExitStatus(exit_code=7)
    process.close()


def test_the_status_after_the_parent_took_note_is_known_to_new_kernels_only(family: type[Family]) -> None:
    one = family("kill -SEGV $$")
    process = WatchedProcess(one.child)
    one.tell("go")
    process.wait(PATIENCE_S)
    one.tell("reap")
    assert one.parent.stdout is not None and one.parent.stdout.readline() == "reaped\n"
    found = process.exit_status()
    if tuple(int(part) for part in os.uname().release.split(".")[:2]) >= (6, 15):
        assert found is not None and found.signal == "SIGSEGV"
    else:
        assert found is None or found.signal == "SIGSEGV"
    process.close()


def test_without_a_descriptor_it_is_still_seen_to_go(
    family: type[Family], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(os, "pidfd_open")
    one = family("exit 0")
    process = WatchedProcess(one.child)
    one.tell("go")
    while process.alive:
        assert process.wait(0.01) == []
    assert process.exit_status() == ExitStatus(exit_code=0)


def test_a_status_is_decoded_as_waitpid_has_it() -> None:
    assert decode_status(3 << 8) == ExitStatus(exit_code=3)
    assert decode_status(9) == ExitStatus(signal="SIGKILL")
    assert decode_status(11 | 0x80) == ExitStatus(signal="SIGSEGV", core_dumped=True)
