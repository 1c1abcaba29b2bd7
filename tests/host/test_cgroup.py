"""Control groups, from recorded trees and, as root on version 1, from the kernel itself."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.waiting import PATIENCE_S

from holdfast.host import cgroup
from holdfast.host.cgroup import GroupState
from holdfast.journal import reader
from holdfast.journal.events import AttemptEnded


def tree(root: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def test_version_2_with_the_limit_on_the_pod_above(tmp_path: Path) -> None:
    tree(
        tmp_path,
        {
            "proc/7/cgroup": "0::/kubepods/pod1/main\n",
            "sys/cgroup.controllers": "cpu memory pids\n",
            "sys/kubepods/pod1/memory.max": "8589934592\n",
            "sys/kubepods/pod1/pids.max": "max\n",
            "sys/kubepods/pod1/main/memory.max": "max\n",
            "sys/kubepods/pod1/main/memory.current": "3000000000\n",
            "sys/kubepods/pod1/main/memory.stat": "anon 2000000000\nfile 900000000\ninactive_file 800000000\n",
            "sys/kubepods/pod1/main/memory.swap.current": "4096\n",
            "sys/kubepods/pod1/main/memory.events": "low 0\nhigh 0\nmax 12\noom 2\noom_kill 1\noom_group_kill 0\n",
            "sys/kubepods/pod1/main/pids.max": "1024\n",
            "sys/kubepods/pod1/main/pids.events": "max 5\n",
        },
    )
    group = cgroup.find(7, proc=tmp_path / "proc", root=tmp_path / "sys")
    assert cgroup.read(group) == GroupState(
        version=2,
        memory_limit_bytes=8589934592,
        memory_used_bytes=2200000000,
        swap_used_bytes=4096,
        oom_kills=1,
        pids_limit=1024,
        pids_refused=5,
    )


def test_version_2_inside_a_container_that_sees_its_own_group_as_the_root(tmp_path: Path) -> None:
    tree(
        tmp_path,
        {
            "proc/7/cgroup": "0::/\n",
            "sys/cgroup.controllers": "memory\n",
            "sys/memory.max": "1000\n",
            "sys/memory.current": "900\n",
            "sys/memory.stat": "inactive_file 100\n",
            "sys/memory.events": "oom_kill 0\n",
        },
    )
    state = cgroup.read(cgroup.find(7, proc=tmp_path / "proc", root=tmp_path / "sys"))
    assert (state.memory_limit_bytes, state.memory_used_bytes, state.oom_kills, state.pids_limit) == (
        1000,
        800,
        0,
        None,
    )


def test_version_1_with_the_tightest_limit_above_and_no_limit_of_its_own(tmp_path: Path) -> None:
    tree(
        tmp_path,
        {
            "proc/7/cgroup": "4:memory:/job/step\n3:pids:/job\n0::/\n",
            "sys/memory/memory.limit_in_bytes": "9223372036854771712\n",
            "sys/memory/job/memory.limit_in_bytes": "500000000\n",
            "sys/memory/job/step/memory.limit_in_bytes": "9223372036854771712\n",
            "sys/memory/job/step/memory.usage_in_bytes": "400000000\n",
            "sys/memory/job/step/memory.stat": "cache 150\ntotal_inactive_file 100000000\ntotal_swap 0\n",
            "sys/memory/job/step/memory.oom_control": "oom_kill_disable 0\nunder_oom 0\noom_kill 3\n",
            "sys/pids/job/pids.max": "64\n",
            "sys/pids/job/pids.events": "max 0\n",
            "sys/unified/cgroup.controllers": "\n",
        },
    )
    state = cgroup.read(cgroup.find(7, proc=tmp_path / "proc", root=tmp_path / "sys"))
    assert state == GroupState(
        version=1,
        memory_limit_bytes=500000000,
        memory_used_bytes=300000000,
        swap_used_bytes=0,
        oom_kills=3,
        pids_limit=64,
        pids_refused=0,
    )


def test_a_container_on_version_1_whose_path_is_of_the_host(tmp_path: Path) -> None:
    tree(
        tmp_path,
        {
            "proc/7/cgroup": "4:memory:/docker/abc\n",
            "sys/memory/memory.limit_in_bytes": "700\n",
            "sys/memory/memory.usage_in_bytes": "600\n",
            "sys/memory/memory.stat": "total_inactive_file 50\n",
        },
    )
    state = cgroup.read(cgroup.find(7, proc=tmp_path / "proc", root=tmp_path / "sys"))
    assert (state.memory_limit_bytes, state.memory_used_bytes) == (700, 550)


def test_no_control_groups_at_all(tmp_path: Path) -> None:
    assert cgroup.read(cgroup.find(7, proc=tmp_path, root=tmp_path)) == GroupState()


@pytest.fixture
def small_group() -> Iterator[Path]:
    """A memory group of 60 MB below our own, as root on version 1."""
    own = cgroup.find("self")
    if own.version != 1 or own.memory is None or os.geteuid() != 0:
        pytest.skip("needs root and the memory controller of cgroup version 1")
    group = own.memory.path / f"holdfast-test-{os.getpid()}"
    try:
        group.mkdir()
        (group / "memory.limit_in_bytes").write_text("60000000")
    except OSError as error:
        pytest.skip(f"a nested memory group cannot be made here: {error}")
    yield group
    group.rmdir()


def test_a_kill_for_memory_is_counted(tmp_path: Path, small_group: Path) -> None:
    (tmp_path / "eat.py").write_text(
        f"import os, time\nopen('{small_group}/cgroup.procs', 'w').write(str(os.getpid()))\n"
        "seen = lambda: open('r/vitals.jsonl').read().count('\\n') if os.path.exists('r/vitals.jsonl') else 0\n"
        "before = seen()\nwhile seen() < before + 3: time.sleep(0.05)\n"
        "held = []\nwhile True: held.append(bytearray(b'x' * 1000000)); time.sleep(0.005)\n"
    )
    done = subprocess.run(
        [sys.executable, "-m", "holdfast", "run", "--run-dir", "r", "--", sys.executable, "eat.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
    )
    assert done.returncode == 137
    (ended,) = [
        e.event for e in reader.read(tmp_path / "r/journal.jsonl") if isinstance(e.event, AttemptEnded)
    ]
    assert ended.signal == "SIGKILL"
    assert (ended.oom_kills_before, ended.oom_kills_after) == (0, 1)
    assert "verdict[killed-for-memory]" in done.stderr
