"""Who may read whose stacks."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from holdfast.host import ptrace_access
from holdfast.host.ptrace_access import Refusal

_NOBODY = 65534


def test_a_child_of_ours_may_be_read() -> None:
    with subprocess.Popen(["sleep", "600"]) as child:
        try:
            assert ptrace_access.refusal(child.pid) is None
            assert ptrace_access.owner(child.pid) == os.geteuid()
        finally:
            child.kill()


#: Gives up root, and with it its own readability until it executes another program; then looks at a process.
_AS_NOBODY = f"""
import os, sys
from holdfast.host import ptrace_access
os.setuid({_NOBODY})
print(ptrace_access.refusal(int(sys.argv[1]) or os.getppid()), flush=True)
sys.stdin.read()
"""
_WITHOUT_CAPABILITY = """
import ctypes, os, sys
ctypes.CDLL(None).prctl(24, 19)  # drops CAP_SYS_PTRACE from what the next program may have
os.execv(sys.executable, [sys.executable, "-c",
    "import sys; from holdfast.host import ptrace_access; print(ptrace_access.refusal(int(sys.argv[1])))", sys.argv[1]])
"""


def look(code: str, pid: int) -> str:
    done = subprocess.run([sys.executable, "-c", code, str(pid)], capture_output=True, text=True, input="")
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.skipif(os.geteuid() != 0, reason="starts processes of another user")
def test_each_refusal_is_named_by_its_reason() -> None:
    with (
        subprocess.Popen(["sleep", "600"]) as roots,
        subprocess.Popen(
            [sys.executable, "-c", _AS_NOBODY, "0"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        ) as nobodys,
    ):
        try:
            assert nobodys.stdout is not None and nobodys.stdout.readline()
            assert look(_AS_NOBODY, roots.pid) == Refusal.OTHER_USER
            assert look(_AS_NOBODY, nobodys.pid) == Refusal.NOT_DUMPABLE
            assert look(_WITHOUT_CAPABILITY, roots.pid) == Refusal.CONTAINER
        finally:
            roots.kill()
            nobodys.kill()


def test_a_process_that_is_gone_is_not_refused() -> None:
    with subprocess.Popen(["true"]) as gone:
        gone.wait()
    assert ptrace_access.refusal(gone.pid) is None
    assert ptrace_access.owner(gone.pid) is None
