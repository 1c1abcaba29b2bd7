"""Stacks by faulthandler, and which processes may get SIGUSR2: only the probe's handler, with its file open."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.waiting import PATIENCE_S

from holdfast.host import procfs
from holdfast.journal.folder import RunFolder
from holdfast.journal.stack_files import Frame
from holdfast.supervise.stack_capture import capture, pyspy


def test_faulthandlers_text_is_read_and_the_main_thread_is_the_last() -> None:
    text = (
        'Thread 0x00007f01 (most recent call first):\n  File "/a/load.py", line 7 in wait\n'
        '  File "/a/load.py", line 3 in run\n\n'
        'Current thread 0x00007f02 (most recent call first):\n  File "/a/train.py", line 9 in <module>\n'
    )
    worker, main = capture.parse_faulthandler(text, main_tid=55)
    assert worker.tid == 0 and worker.frames[0] == Frame("/a/load.py", 7, "wait")
    assert main.tid == 55 and main.frames == (Frame("/a/train.py", 9, "<module>"),)


def test_faulthandler_answers_where_py_spy_may_not_look(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = RunFolder(tmp_path)
    folder.stacks.mkdir()
    code = (
        "import faulthandler, os, sys\n"
        f"file = open(r'{folder.stacks}/faulthandler-%d.txt' % os.getpid(), 'w')\n"
        "faulthandler.register(12, file=file, all_threads=True)\n"
        "def stand():\n    print(1, flush=True); sys.stdin.readline()\nstand()\n"
    )
    child = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        assert child.stdout is not None and child.stdout.readline() == b"1\n"

        def refused(pid: int, *, native: bool = False) -> list[pyspy.PyThread]:
            raise pyspy.NoStacks("ptrace is refused")

        monkeypatch.setattr(pyspy, "dump", refused)
        monkeypatch.setattr(capture, "_FAULTHANDLER_TIMEOUT_S", PATIENCE_S)
        found = capture.process_stacks(child.pid, trains=True, folder=folder, native=False)
        assert found is not None and found.source == "faulthandler"
        assert [frame.function for frame in found.threads[0].frames] == ["stand", "<module>"]
    finally:
        child.communicate(b"\n")
    assert child.returncode == 0


def test_a_process_without_a_handler_is_never_sent_the_signal(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path)
    folder.stacks.mkdir()
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    (folder.stacks / f"faulthandler-{child.pid}.txt").touch()
    assert not procfs.catches(child.pid, signal.SIGUSR2)
    assert capture.ask_faulthandler(child.pid, folder) == []
    child.communicate(b"\n")
    assert child.returncode == 0


#: Tells whether its own handler for SIGUSR2 has run.
_SCRIPT = """
import os, signal, sys
heard = []
path = os.path.join(sys.argv[1], "faulthandler-%d" % os.getpid())
file = open(path + ".txt", "w")
signal.signal(signal.SIGUSR2, lambda *_: {handler})
{then}
print("ready", flush=True)
sys.stdin.readline()
print("heard" if heard else "not asked", flush=True)
"""


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    folder = RunFolder(tmp_path)
    folder.stacks.mkdir()
    return folder


@contextmanager
def started(
    folder: RunFolder, then: str, handler: str = "heard.append(1)"
) -> Iterator[subprocess.Popen[str]]:
    code = _SCRIPT.format(then=then, handler=handler)
    command = [sys.executable, "-c", code, str(folder.stacks)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "ready\n"
        yield child


def test_a_script_that_uses_the_signal_itself_does_not_get_it(folder: RunFolder) -> None:
    with started(folder, "open(path + '.unasked', 'w').close()") as child:
        assert capture.ask_faulthandler(child.pid, folder) == []
        assert child.communicate("\n")[0] == "not asked\n"


def test_a_script_that_has_closed_the_probes_file_is_not_asked_to_write(folder: RunFolder) -> None:
    with started(folder, "file.close()") as child:
        assert capture.ask_faulthandler(child.pid, folder) == []
        assert child.communicate("\n")[0] == "not asked\n"


def test_a_process_that_takes_its_file_along_gives_no_stacks(folder: RunFolder) -> None:
    with started(folder, "", handler="(heard.append(1), os.unlink(file.name))") as child:
        assert capture.ask_faulthandler(child.pid, folder) == []
        assert child.communicate("\n")[0] == "heard\n"


def test_a_process_that_is_gone_gives_no_stacks(folder: RunFolder) -> None:
    with started(folder, "") as child:
        child.communicate("\n")
    assert (folder.stacks / f"faulthandler-{child.pid}.txt").exists()
    assert capture.ask_faulthandler(child.pid, folder) == []
