"""What a pod can see of its end."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from holdfast.journal.vitals import Sample
from holdfast.supervise.scheduler import pod

POD = {"KUBERNETES_SERVICE_HOST": "10.0.0.1", "HOLDFAST_POD": "run-0-x7", "HOLDFAST_NODE": "gke-1"}
GIB = 1 << 30


def test_a_node_that_runs_low_evicts() -> None:
    asked = pod.asked_to_end(POD, available_bytes=150 << 20, low_disks=[])
    assert asked is not None
    assert (asked.why, asked.job, asked.state) == ("evicted", "run-0-x7", "150 MiB available on the node")
    asked = pod.asked_to_end(POD, available_bytes=8 * GIB, low_disks=["6% of the node's disk free"])
    assert asked is not None
    assert (asked.why, asked.state) == ("evicted", "6% of the node's disk free")


def test_disks_are_those_of_the_node_and_not_of_the_run() -> None:
    """A volume of the pod's own may be full, and evicts nobody."""

    def statvfs(free: float, inodes: float = 0.5) -> Callable[[str], os.statvfs_result]:
        values = (4096, 4096, 1000, 0, int(1000 * free), 1000, 0, int(1000 * inodes), 0, 255)
        full = (4096, 4096, 1000, 0, 0, 1000, 0, 0, 0, 255)
        return lambda path: os.statvfs_result(values if path in ("/", "/etc/hosts") else full)

    assert pod.low_disks(statvfs(0.5)) == []
    assert pod.low_disks(statvfs(0.12)) == ["12% of the disk of containers free"]
    assert pod.low_disks(statvfs(0.06)) == ["6% of the disk of containers free", "6% of the node's disk free"]
    assert pod.low_disks(statvfs(0.5, inodes=0.02)) == [
        "2% of the inodes of the disk of containers free", "2% of the inodes of the node's disk free"
    ]  # fmt: skip

    def refused(path: str) -> os.statvfs_result:
        raise PermissionError(path)

    assert pod.low_disks(refused) == []


def test_more_scratch_space_than_the_pod_may_use(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "checkpoint").write_bytes(b"x" * (2 << 20))
    places = [tmp_path / "run", tmp_path / "cache"]
    assert pod.over_limit(POD | {"HOLDFAST_SCRATCH_BYTES": str(2 << 20)}, places) == [
        "2 of 2 MiB of ephemeral storage used by the run and the cache"
    ]
    assert pod.over_limit(POD | {"HOLDFAST_SCRATCH_BYTES": str(4 << 20)}, places) == []
    assert pod.over_limit(POD, places) == []


def test_elsewhere_the_reason_is_not_known() -> None:
    asked = pod.asked_to_end(POD, available_bytes=8 * GIB, low_disks=[])
    assert asked is not None
    assert asked.why == ""
    assert pod.asked_to_end({}, available_bytes=1, low_disks=["0%"]) is None


def test_a_container_that_was_started_again_at_its_memory_limit() -> None:
    began = pod.started(POD)
    assert began is not None
    full = Sample(at=1.0, mono=1.0, memory_used_bytes=int(3.9 * GIB), memory_limit_bytes=4 * GIB)
    answer = pod.ended_before(began, began, full)
    assert answer is not None
    assert (answer.why, answer.state) == ("out-of-memory", "3993 of 4096 MiB in use at the last sample")
    half = Sample(at=1.0, mono=1.0, memory_used_bytes=2 * GIB, memory_limit_bytes=4 * GIB)
    assert pod.ended_before(began, began, half) is None
    other = pod.started(POD | {"HOLDFAST_POD": "run-0-b2"})
    assert other is not None
    assert pod.ended_before(other, began, full) is None  # a new pod, whose container is another one


def test_the_message_of_the_termination_is_at_most_what_kubernetes_keeps(tmp_path: Path) -> None:
    file = tmp_path / "termination-log"
    pod.write_message("x" * 10_000, POD, file)
    assert file.stat().st_size == 4096
    pod.write_message("y", {}, tmp_path / "nothing")
    assert not (tmp_path / "nothing").exists()
