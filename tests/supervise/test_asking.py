"""Who may be asked for its stacks by SIGUSR2: a process whose handler, and whose file, are the probe's."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from holdfast.journal.folder import RunFolder
from holdfast.supervise.stack_capture import capture

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
