"""How memory ended a run, what held it, and what was measured of it."""

from __future__ import annotations

import enum
import re
from typing import Any, NamedTuple

from holdfast.explain.evidence import Evidence
from holdfast.explain.finding import Fact
from holdfast.explain.readings.error import FULL_DISK, ErrorText, Quote
from holdfast.explain.readings.growth import GrowthShape
from holdfast.explain.readings.numbers import whole_or_none
from holdfast.journal import events as ev

_REFUSED = ErrorText(
    r"bad_alloc|\bMemoryError\b|Unable to allocate [\d.]+ \w+ for an array|Cannot allocate memory|"
    r"OOM when allocating tensor(?!.*GPU)|ran out of memory trying to allocate.*\bcpu\b|Failed to allocate memory|"
    r"Out of memory allocating \d+ bytes",  # of JAX on a CPU
    re.IGNORECASE,
)
#: In the words of TensorFlow, XLA, JAX and torch.
_GPU_REFUSED = ErrorText(
    r"CUDA_ERROR_OUT_OF_MEMORY|OOM when allocating tensor.*GPU|GPU_\d+_bfc\) ran out of memory|"
    r"Out of memory (while )?trying to allocate [\d.]+|"
    r"RESOURCE_EXHAUSTED: (?!Out of memory allocating \d).*(GPU|device|Out of memory|allocate)|"
    r"ran out of memory trying to allocate.*GPU|hipErrorOutOfMemory|"
    r"(CUDA|HIP|MPS backend|XPU) out of memory|CUDA error: out of memory|CUBLAS_STATUS_ALLOC_FAILED|"
    r"CUDNN_STATUS_ALLOC_FAILED"
)
#: Share of the limit above which a process counts as near it. Chosen: a run that grows into
#: its limit takes the last of it after the last sample.
_NEAR = 0.9
_LEAST_PYTHON_BYTES = 6 << 20  # an interpreter that imported nothing takes some nine
#: Containers that are filled entry by entry.
_COUNTED = ("list", "dict", "deque", "set", "defaultdict")
#: Surveys of the user's containers that are searched for the one that grew most.
_LAST_SURVEYS = 5


class MemoryEnd(enum.Enum):
    """How memory ended a run."""

    NO = "no"
    NEAR_LIMIT = "near-limit"  # it lives, close to its limit
    KILLED = "killed-for-memory"  # by the kernel; the value is the cause that says so
    REFUSED = "memory-refused"  # an allocation was refused

    @property
    def cause(self) -> str | None:
        """The cause that tells of this end, for `led_to`."""
        return self.value if self in (MemoryEnd.KILLED, MemoryEnd.REFUSED) else None


class Kept(NamedTuple):
    """A container of the user's that grew."""

    bytes: int
    item: dict[str, Any]  # what the probe recorded of it
    source: str

    @property
    def name(self) -> str:
        return str(self.item.get("name"))

    @property
    def limit(self) -> int | None:
        """How many entries it may hold; None: any number."""
        return whole_or_none(self.item.get("limit"))

    @property
    def is_queue(self) -> bool:
        return bool(self.item.get("queue"))

    @property
    def is_emptied(self) -> bool:
        """Of a queue: something takes entries out of it."""
        return (whole_or_none(self.item.get("taken")) or 0) > 0

    @property
    def full_bytes(self) -> int | None:
        """With as many entries as it may hold, each as large as those that are in it."""
        length = whole_or_none(self.item.get("length"))
        return _bytes_of(self.item) * self.limit // length if self.limit and length else None

    @property
    def fact(self) -> Fact:
        known = {name: self.item.get(name) or "" for name in ("where", "type")}
        size = {"bytes": self.bytes, "length": whole_or_none(self.item.get("length"))}
        return Fact("object.grew", {"name": self.name, **known, **size}, self.source)


def refused_memory(evidence: Evidence) -> Quote | None:
    """An allocation on the host that was refused; a full disk and a full GPU say nearly the same and are not it."""
    other = FULL_DISK.match(evidence) or gpu_refused(evidence)
    return None if other is not None else _REFUSED.match(evidence)


def gpu_refused(evidence: Evidence) -> Quote | None:
    """An allocation on a GPU that was refused."""
    return None if FULL_DISK.match(evidence) is not None else _GPU_REFUSED.match(evidence)


def memory_end(evidence: Evidence) -> MemoryEnd:
    if evidence.oom_ended or _killed_at_the_limit(evidence):
        return MemoryEnd.KILLED
    if evidence.exit_signal != "SIGKILL" and evidence.went_wrong and refused_memory(evidence) is not None:
        return MemoryEnd.REFUSED
    if (evidence.oom_kills or 0) > 0 and evidence.exit_code != 0:
        return MemoryEnd.KILLED  # a descendant was killed
    return MemoryEnd.NEAR_LIMIT if evidence.ended is None and near_the_limit(evidence) else MemoryEnd.NO


def _killed_at_the_limit(evidence: Evidence) -> bool:
    from_outside = evidence.exit_signal == "SIGKILL" and not evidence.stopped_by_us
    return from_outside and evidence.oom_kills is None and near_the_limit(evidence)


def near_the_limit(evidence: Evidence, share: float = _NEAR) -> bool:
    """The last sample stood close to the limit of memory."""
    if evidence.memory_limit is None or not evidence.samples:
        return False
    sample = evidence.samples[-1][1]
    used = max(sample.rss_bytes, sample.tree_rss_bytes, sample.memory_used_bytes or 0)
    return used > share * evidence.memory_limit[0]


def only_waits(evidence: Evidence) -> bool:
    """The command is a shell or another wrapper: smaller than any Python, its child does the work."""
    return 0 < evidence.growth.peak_bytes < _LEAST_PYTHON_BYTES


def peak_bytes(evidence: Evidence) -> int:
    """Of the process; of a wrapper, with all below it."""
    if not only_waits(evidence):
        return evidence.growth.peak_bytes
    return max((sample.tree_rss_bytes for _, sample in evidence.samples), default=0)


def share_of_limit(evidence: Evidence, held_bytes: float | None) -> float | None:
    """The part of the limit of memory that so many bytes are; None where either is not known."""
    limit = evidence.memory_limit
    return held_bytes / limit.bytes if held_bytes and limit is not None else None


def oom_kills(evidence: Evidence) -> Fact:
    """By how much the kernel's counter of out-of-memory kills rose; None where it could not be read."""
    return Fact("memory.oom-kills", {"kills": evidence.oom_kills}, evidence.exit_source)


def kept_by_objects(evidence: Evidence) -> Kept | None:
    """The container of the user's that grew most."""
    surveys = evidence.all(ev.HoldingsSeen)
    first = {str(item.get("name")): _bytes_of(item) for one in surveys[:1] for item in one.event.items}
    best: Kept | None = None
    for survey in surveys[-_LAST_SURVEYS:]:
        for item in survey.event.items:
            gain = _bytes_of(item) - first.get(str(item.get("name")), 0)
            if len(surveys) == 1:  # what is counted in entries may have grown, an array was there at once
                gain = _bytes_of(item) if item.get("type") in _COUNTED else 0
            if gain > (best.bytes if best is not None else 0):
                best = Kept(gain, item, survey.source)
    return best


def _bytes_of(item: dict[str, Any]) -> int:
    return int(item.get("bytes") or 0)


def grew(evidence: Evidence) -> Fact:
    """How much memory rose, and when."""
    return Fact("memory.grew", growth_values(evidence), evidence.growth.rise.source)


def growth_seen(evidence: Evidence) -> list[Fact]:
    """The same, where it rose by an amount that is worth showing."""
    return [grew(evidence)] if evidence.growth.when != GrowthShape.NONE else []


def growth_values(evidence: Evidence) -> dict[str, Any]:
    grown, rise = evidence.growth, evidence.growth.rise
    course = {"bytes": rise.bytes, "seconds": rise.seconds, "steps": rise.steps}
    return {**course, "when": grown.when, "last_step": grown.last_step}


def at_the_end(evidence: Evidence) -> tuple[Fact, ...]:
    """What was used of what was allowed when it was last measured."""
    alive = [pair for pair in evidence.samples if pair[1].rss_bytes]  # a dead process uses nothing
    if evidence.memory_limit is None or not alive:
        return ()
    line, sample = alive[-1]
    limit, set_by = evidence.memory_limit
    # what a group is held to leaves out the pages of libraries that others share, which a process's own sum counts
    by_group = sample.memory_limit_bytes == limit and sample.memory_used_bytes
    used = by_group or max(sample.tree_rss_bytes, sample.rss_bytes)
    values = {"used_bytes": used, "limit_bytes": limit, "set_by": set_by}
    return (Fact("memory.last-measured", values, f"vitals.jsonl:{line}"),)
