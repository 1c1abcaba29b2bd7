"""Shared memory (/dev/shm) is full."""

from __future__ import annotations

from holdfast.explain.causes.declare import Group, cause
from holdfast.explain.evidence import Evidence
from holdfast.explain.unconverted import Fact, Finding, Remedy, Strength, matched, users_line
from holdfast.explain.words import size
from holdfast.journal import events as ev


@cause(
    "shared-memory-full",
    Group.PROCESSES,
    specialises=(
        "script-error",
        "native-crash",
    ),
)
def shared_memory_full(evidence: Evidence) -> Finding | None:
    said = matched(
        evidence,
        r"Bus error|/dev/shm.*(No space|full|denied)|No space left.*/dev/shm|shm.*(No space left|insufficient)|"
        r"unable to (write|mmap|open).*(/torch_|shared memory)|insufficient shared memory",
    )
    bus = evidence.exit_signal == "SIGBUS"
    if said is None and not bus:
        return None
    machine = evidence.last(ev.MachineRead)
    total = (
        next((disk.get("total_bytes") for disk in machine.event.disks if disk.get("what") == "shm"), None)
        if machine is not None
        else None
    )
    free = [(line, s.disks_free_bytes["shm"]) for line, s in evidence.samples if "shm" in s.disks_free_bytes]
    least = min((value for _, value in free), default=None)
    any_full = [
        (line, what, value)
        for line, s in evidence.samples[-2:]
        for what, value in s.disks_free_bytes.items()
        if value < (4 << 20)
    ]
    full = least is not None and least < (16 << 20)
    facts = (
        [Fact("it ended on SIGBUS: a page of a mapped file could not be had", evidence.exit_source)]
        if bus
        else []
    )
    facts += [said[1]] if said is not None else []
    if least is not None:
        facts.append(
            Fact(
                f"/dev/shm had {size(least)} left at the least" + (f" of {size(total)}" if total else ""),
                f"vitals.jsonl:{free[-1][0]}",
            )
        )
    facts += [
        Fact(f"the disk of '{what}' had {size(value)} left", f"vitals.jsonl:{line}")
        for line, what, value in any_full[-1:]
        if what != "shm"
    ]
    facts += users_line(evidence)
    if evidence.oom_kills == 0:
        facts.append(Fact("the kernel's out-of-memory kill counter did not move", evidence.exit_source))
    worded = said is not None and "Bus error" not in said[1].fact
    roomy = least is not None and not full and not any_full and not worded
    against = [Fact("/dev/shm itself was never low")] if roomy else []
    return Finding(
        "shared-memory-full",
        Strength.ESTABLISHED if full or worded else Strength.SUPPORTED,
        "a page of a mapped file could not be had: its memory file system is full, or the file was cut"
        if roomy
        else "shared memory is full: a page of it could not be had",
        tuple(facts),
        tuple(against),
        (
            Remedy("give the container more", "your-choice", "docker run --shm-size=8g …"),
            Remedy("fewer workers, or smaller batches between processes", "your-choice"),
        ),
    )
