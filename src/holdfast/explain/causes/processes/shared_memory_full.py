"""Shared memory (/dev/shm) is full."""

from holdfast.explain.readings.end import end_seen
from holdfast.explain.readings.error import ErrorText, user_line
from holdfast.explain.readings.limits import (
    in_shared_memory,
    low_disks,
    mapping_cut_off,
    mapping_without_space,
    space_fact,
)
from holdfast.explain.rule import Evidence, Fact, Finding, Remedy, Strength, Title, cause, ev

_REFUSED = ErrorText(
    r"Bus error|/dev/shm.*(No space|full|denied)|No space left.*/dev/shm|shm.*(No space left|insufficient)|"
    r"unable to (write|mmap|open).*(/torch_|shared memory)|insufficient shared memory"
)
#: Below this, /dev/shm counts as full. Chosen; no measurement is recorded.
_FULL_SHM_BYTES = 16 << 20
#: With more than this left a moment before, it was not what was full. Chosen: a container has 64 MiB by default.
_SMALL_SHM_BYTES = 1 << 30
#: …and any other disk, which may be a memory file system too. Chosen as well.
_FULL_DISK_BYTES = 4 << 20


@cause("shared-memory-full", specialises=("script-error", "native-crash"))
def shared_memory_full(evidence: Evidence) -> Finding | None:
    quote, bus_error = _REFUSED.match(evidence), evidence.exit_signal == "SIGBUS"
    if quote is None and not bus_error:
        return None
    mapped = mapping_without_space(evidence)
    if (mapped is not None and not in_shared_memory(mapped)) or mapping_cut_off(evidence) is not None:
        return None  # another file system, or another reason
    disks = low_disks(evidence, _FULL_DISK_BYTES, samples=2)
    free = [(line, one.disks_free_bytes.get("shm")) for line, one in evidence.samples]
    known = [(line, free_bytes) for line, free_bytes in free if free_bytes is not None]
    least = min((free_bytes for _, free_bytes in known), default=None)
    full = mapped is not None or (least is not None and least < _FULL_SHM_BYTES)
    worded = quote is not None and not quote.says("Bus error")
    facts = [*end_seen(evidence)] if bus_error else []
    facts += [space_fact(mapped)] if mapped is not None else []
    facts += [quote.fact] if quote is not None else []
    if least is not None:
        read = [disk for disk in evidence.seen(ev.MachineRead).disks if disk.get("what") == "shm"]
        values = {"free_bytes": least, "total_bytes": read[0].get("total_bytes") if read else None}
        facts.append(Fact("shared-memory.least-free", values, f"vitals.jsonl:{known[-1][0]}"))
    facts += [fact for fact in disks[-1:] if fact.values["disk"] != "shm"]
    facts += user_line(evidence)
    facts += [Fact("oom.none", {}, evidence.exit_source)] if evidence.oom_kills == 0 else []
    remedies = [Remedy("shared-memory.raise"), Remedy("shared-memory.use-less")]
    if full or worded or least is None or disks:
        return Finding(Strength.established_if(full or worded), Title("shared-memory-full"), facts, remedies)
    title, against = Title("shared-memory-full.page-missing"), [Fact("shared-memory.never-low")]
    # One that was seen to be large cannot have been filled since the last look.
    small = (least or 0) < _SMALL_SHM_BYTES
    return Finding(Strength.supported_if(small), title, facts, remedies, against=against)
