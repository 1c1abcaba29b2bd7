"""Limits that the system sets on a process, as they were read when it was started, and disks without space."""

from __future__ import annotations

import errno
import re
from typing import NamedTuple

from holdfast.explain.evidence import Evidence
from holdfast.explain.finding import Fact
from holdfast.explain.readings.recorded import Recorded
from holdfast.journal import events as ev

#: A file system with less free space than this had no page left for a mapped file. Chosen: pages of 4 KiB to 2 MiB.
_NO_PAGE_BYTES = 4 << 20
_PAGE_BYTES = 4096  # the map is in whole pages
_SHARED_MEMORY = "/dev/shm/"


_STARTS = re.compile(r"popen_(?:fork|spawn|forkserver)|subprocess\.py|forkserver|threading\.py|_fork_exec")
_INNERMOST = 4  # frames in which the call is looked for


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


def cannot_start(evidence: Evidence) -> bool:
    """The kernel refused a new process or thread: a locked file has the same number, in other frames."""
    error = evidence.error
    if error is None or error.errno != errno.EAGAIN:
        return False
    return any(_STARTS.search(frame) for frame in error.frames[-_INNERMOST:])


def low_disks(evidence: Evidence, below_bytes: int, *, samples: int = 1) -> list[Fact]:
    """Disks with less free space than this in the last samples."""
    return [
        Fact("disk.low", {"disk": disk, "free_bytes": free}, f"vitals.jsonl:{line}")
        for line, sample in evidence.samples[-samples:]
        for disk, free in sample.disks_free_bytes.items()
        if free < below_bytes
    ]


def mapping_without_space(evidence: Evidence) -> Recorded[ev.MappedFileSeen] | None:
    """Of a run that SIGBUS ended: the mapped file that has less space than its size, and can get no more."""
    if evidence.exit_signal != "SIGBUS":
        return None
    full = [one for one in evidence.all(ev.MappedFileSeen) if _has_no_space(one.event)]
    return max(full, key=lambda one: one.event.mapped_bytes, default=None)


def _has_no_space(event: ev.MappedFileSeen) -> bool:
    size, stored, free = event.size_bytes, event.stored_bytes, event.free_bytes
    return (
        size is not None
        and stored is not None
        and free is not None
        and stored < size
        and free < _NO_PAGE_BYTES
    )


def mapping_cut_off(evidence: Evidence) -> Recorded[ev.MappedFileSeen] | None:
    """The same: the mapped file that is shorter now than what is mapped of it."""
    if evidence.exit_signal != "SIGBUS":
        return None
    seen = evidence.all(ev.MappedFileSeen)
    cut = [one for one in seen if one.event.size_bytes is not None and _is_cut(one.event)]
    return max(cut, key=lambda one: one.event.mapped_bytes, default=None)


def _is_cut(event: ev.MappedFileSeen) -> bool:
    return (event.size_bytes or 0) + _PAGE_BYTES <= event.mapped_bytes


def in_shared_memory(seen: Recorded[ev.MappedFileSeen]) -> bool:
    return seen.event.path.startswith(_SHARED_MEMORY)


def space_fact(seen: Recorded[ev.MappedFileSeen]) -> Fact:
    event = seen.event
    values = {"path": event.path, "size_bytes": event.size_bytes, "stored_bytes": event.stored_bytes,
              "free_bytes": event.free_bytes, "mapped_bytes": event.mapped_bytes or None}  # fmt: skip
    return seen.fact("file.mapped", **values)
