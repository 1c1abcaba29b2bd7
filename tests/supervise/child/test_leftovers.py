"""Leftover processes of a command: found, asked to end, killed."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

from tests.waiting import PATIENCE_S, until

from holdfast.host import procfs
from holdfast.supervise.child import leftovers

DEAF = (
    "import signal, threading, pathlib, os\nsignal.signal(15, lambda *_: None)\n"
    "pathlib.Path('up').write_text(str(os.getpid()))\nlock = threading.Lock()\nlock.acquire()\n"
    "while True: lock.acquire()"
)


def test_what_is_left_is_asked_first_and_killed_after_its_time(tmp_path: Path) -> None:
    kind = subprocess.Popen(["sleep", "600"], start_new_session=True)
    (tmp_path / "deaf.py").write_text(DEAF)
    deaf = subprocess.Popen([sys.executable, "deaf.py"], cwd=tmp_path)
    until((tmp_path / "up").exists, "the deaf one")
    known = {one.pid: one for pid in (kind.pid, deaf.pid) if (one := procfs.stat(pid)) is not None}
    sent: list[tuple[int, int]] = []
    leftovers.terminate(
        lambda: leftovers.find_leftovers(1 << 30, known),
        within_s=3.0,
        on_sent=lambda pid, number: sent.append((pid, number)),
        wait=lambda seconds: kind.wait(PATIENCE_S) and leftovers.sleep(seconds),
    )
    assert kind.wait(PATIENCE_S) == -signal.SIGTERM
    assert deaf.wait(PATIENCE_S) == -signal.SIGKILL
    assert sorted(sent) == sorted(
        [(kind.pid, signal.SIGTERM), (deaf.pid, signal.SIGTERM), (deaf.pid, signal.SIGKILL)]
    )


def test_a_later_process_of_the_same_number_is_not_touched(tmp_path: Path) -> None:
    other = subprocess.Popen(["sleep", "600"])
    try:
        seen = procfs.stat(other.pid)
        assert seen is not None
        before = procfs.Stat(*(getattr(seen, name) for name in procfs.Stat.__slots__))
        object.__setattr__(before, "started_ticks", seen.started_ticks - 1)
        assert leftovers.find_leftovers(group=1 << 30, known={other.pid: before}) == {}
        assert list(leftovers.find_leftovers(group=1 << 30, known={other.pid: seen})) == [other.pid]
    finally:
        other.kill()
        other.wait()
