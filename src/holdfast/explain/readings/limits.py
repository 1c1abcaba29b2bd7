"""Limits that the system sets on a process, as they were read when it was started, and disks without space."""

from __future__ import annotations

from typing import NamedTuple

from holdfast.explain.evidence import Evidence
from holdfast.explain.finding import Fact
from holdfast.journal import events as ev


class Limit(NamedTuple):
    value: int
    source: str


def rlimit(evidence: Evidence, name: str) -> Limit | None:
    """A limit by its name in `ulimit` and setrlimit: "nofile", "fsize"; None where there is none."""
    machine = evidence.last(ev.MachineRead)
    value = machine.event.rlimits.get(name) if machine is not None else None
    return Limit(value, machine.source) if machine is not None and value else None


def pids_refused(evidence: Evidence) -> bool:
    """The kernel's counter of refused processes and threads rose while it ran."""
    before = evidence.end.pids_refused_before
    return before is not None and (evidence.end.pids_refused_after or 0) > before


def low_disks(evidence: Evidence, below_bytes: int, *, samples: int = 1) -> list[Fact]:
    """Disks with less free space than this in the last samples."""
    return [
        Fact("disk.low", {"disk": disk, "free_bytes": free}, f"vitals.jsonl:{line}")
        for line, sample in evidence.samples[-samples:]
        for disk, free in sample.disks_free_bytes.items()
        if free < below_bytes
    ]
