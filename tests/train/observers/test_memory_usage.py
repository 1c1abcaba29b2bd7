"""Memory of a machine that is told in files."""

from __future__ import annotations

from pathlib import Path

from holdfast.train.observers.memory_usage import host_memory
from holdfast.train.observers.progress_text import MemoryUsage

STATUS = "Name:\tpython\nVmHWM:\t  3000 kB\nVmRSS:\t  2500 kB\nRssAnon:\t  2000 kB\nRssFile:\t  500 kB\n"


def machine(root: Path, limit: str) -> Path:
    (root / "proc/self").mkdir(parents=True)
    (root / "proc/self/status").write_text(STATUS)
    (root / "proc/self/cgroup").write_text("0::/job\n")
    (root / "proc/meminfo").write_text("MemTotal:       16000 kB\nMemFree: 1 kB\n")
    group = root / "sys/fs/cgroup/job"
    group.mkdir(parents=True)
    (group / "memory.max").write_text(limit)
    (root / "sys/fs/cgroup/cgroup.controllers").write_text("memory\n")
    return root


def test_files_do_not_count_and_the_tightest_limit_does(tmp_path: Path) -> None:
    kib = 1024
    limited = host_memory(machine(tmp_path / "a", "8192000\n"))
    assert limited == MemoryUsage("memory", 2000 * kib, 2500 * kib, 8000 * kib)
    assert host_memory(machine(tmp_path / "b", "max\n")).limit == 16000 * kib


def test_of_this_very_process() -> None:
    seen = host_memory()
    assert 0 < seen.now <= seen.peak
