"""Who has locked a file."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from holdfast.host import file_locks

TABLE = """\
1: FLOCK  ADVISORY  WRITE 708 00:13:34 0 EOF
1: -> FLOCK  ADVISORY  WRITE 911 00:13:34 0 EOF
2: POSIX  ADVISORY  READ  55 fe:00:2623668 1073741824 1073742335
"""


def test_the_owner_and_not_who_waits() -> None:
    assert file_locks.parse_owner(TABLE, os.makedev(0, 0x13), 34) == 708
    assert file_locks.parse_owner(TABLE, os.makedev(0xFE, 0), 2623668) == 55
    assert file_locks.parse_owner(TABLE, os.makedev(0xFE, 0), 1) is None
    assert (
        file_locks.parse_owner(TABLE.replace("708", "0"), os.makedev(0, 0x13), 34) is None
    )  # another namespace


@pytest.mark.skipif(not Path("/proc/locks").exists(), reason="the kernel shows no locks")
def test_a_process_that_has_locked_a_file(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    code = f"import fcntl, time; f = open({str(path)!r}, 'w'); fcntl.flock(f, 2); print(1, flush=True); time.sleep(600)"
    other = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE)
    try:
        assert other.stdout is not None and other.stdout.readline() == b"1\n"
        with path.open() as file:
            owner = file_locks.owner_of(os.getpid(), file.fileno())
        if owner is None:
            pytest.skip("this container does not show the locks of its processes")
        assert owner.pid == other.pid
    finally:
        other.kill()
        other.wait()
