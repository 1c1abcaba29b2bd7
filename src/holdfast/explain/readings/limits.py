"""Limits that the system sets on a process, as they were read when it was started."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from holdfast.journal import events as ev

if TYPE_CHECKING:
    from holdfast.explain.evidence import Evidence


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
    end = evidence.ended.event if evidence.ended is not None else None
    before = end.pids_refused_before if end is not None else None
    return end is not None and before is not None and (end.pids_refused_after or 0) > before
