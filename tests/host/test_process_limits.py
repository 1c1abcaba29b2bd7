"""Memory and cores: what the machine or the container allows."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.host.process_limits import free_memory_bytes, memory_limit_bytes, usable_cores

GIB = 1 << 30


@pytest.fixture
def machine(tmp_path: Path):  # type: ignore[no-untyped-def]
    """A machine with 8 GiB available, described by its files."""

    def write(files: dict[str, str]) -> Path:
        for name, text in {
            "sys/fs/cgroup/cgroup.controllers": "cpu memory pids\n",
            "proc/meminfo": "MemTotal: 16777216 kB\nMemAvailable: 8388608 kB\n",
            **files,
        }.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return tmp_path

    return write


def test_without_a_container_the_machine_decides(machine) -> None:  # type: ignore[no-untyped-def]
    root = machine({"proc/self/cgroup": "0::/\n"})
    assert free_memory_bytes(root) == 8 * GIB
    assert memory_limit_bytes(root) == 16 * GIB


def test_cgroup_version_2_counts_the_tightest_of_all_above(machine) -> None:  # type: ignore[no-untyped-def]
    root = machine({
        "proc/self/cgroup": "0::/pod/container\n",
        "sys/fs/cgroup/pod/container/memory.max": "max\n",
        "sys/fs/cgroup/pod/container/memory.current": "100\n",
        "sys/fs/cgroup/pod/memory.max": f"{4 * GIB}\n",
        "sys/fs/cgroup/pod/memory.current": f"{3 * GIB}\n",
        "sys/fs/cgroup/pod/memory.stat": f"anon {2 * GIB}\ninactive_file {GIB // 2}\n",
    })  # fmt: skip
    assert free_memory_bytes(root) == GIB + GIB // 2
    assert memory_limit_bytes(root) == 4 * GIB


def test_cgroup_version_1(machine) -> None:  # type: ignore[no-untyped-def]
    files = {
        "proc/self/cgroup": "4:memory:/docker/abc\n1:cpu,cpuacct:/docker/abc\n0::/\n",
        "sys/fs/cgroup/memory/docker/abc/memory.limit_in_bytes": f"{2 * GIB}\n",
        "sys/fs/cgroup/memory/docker/abc/memory.usage_in_bytes": f"{GIB}\n",
        "sys/fs/cgroup/memory/docker/abc/memory.stat": "cache 5\ntotal_inactive_file 1048576\n",
        "sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n",
        "sys/fs/cgroup/memory/memory.usage_in_bytes": f"{12 * GIB}\n",
    }
    assert free_memory_bytes(machine(files)) == GIB + (1 << 20)


def test_inside_a_container_its_own_root_holds_the_limit(machine) -> None:  # type: ignore[no-untyped-def]
    """/proc names the host's path, which is not mounted in the container."""
    files = {
        "proc/self/cgroup": "4:memory:/docker/abc\n",
        "sys/fs/cgroup/memory/memory.limit_in_bytes": f"{3 * GIB}\n",
        "sys/fs/cgroup/memory/memory.usage_in_bytes": f"{GIB}\n",
    }
    assert free_memory_bytes(machine(files)) == 2 * GIB


def test_a_container_over_its_limit_has_nothing_free(machine) -> None:  # type: ignore[no-untyped-def]
    files = {
        "proc/self/cgroup": "0::/\n",
        "sys/fs/cgroup/memory.max": f"{GIB}\n",
        "sys/fs/cgroup/memory.current": f"{2 * GIB}\n",
    }
    assert free_memory_bytes(machine(files)) == 0


def test_a_quota_of_cores_counts(machine) -> None:  # type: ignore[no-untyped-def]
    one = {"proc/self/cgroup": "0::/a\n", "sys/fs/cgroup/a/cpu.max": "100000 100000\n"}
    assert usable_cores(machine(one)) == 1
    none = {"proc/self/cgroup": "0::/b\n", "sys/fs/cgroup/b/cpu.max": "max 100000\n"}
    assert usable_cores(machine(none)) >= 1
    version_1 = {
        "proc/self/cgroup": "1:cpu,cpuacct:/c\n",
        "sys/fs/cgroup/cpu,cpuacct/c/cpu.cfs_quota_us": "50000\n",
        "sys/fs/cgroup/cpu,cpuacct/c/cpu.cfs_period_us": "100000\n",
    }
    assert usable_cores(machine(version_1)) == 1
