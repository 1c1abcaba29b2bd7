"""The loader's processes grow, the parent does not: fork's copies, or a leak in the loader."""

from __future__ import annotations

from holdfast.explain.causes.declare import Group, cause
from holdfast.explain.evidence import Evidence
from holdfast.explain.readings.growth import GrowthShape
from holdfast.explain.readings.memory import MemoryEnd, memory_end
from holdfast.explain.unconverted import Fact, Finding, Remedy, Strength, at_the_end
from holdfast.explain.words import counted, size
from holdfast.journal import events as ev


@cause("worker-memory-grows", Group.MEMORY, specialises=("memory-leak",))
def worker_memory_grows(evidence: Evidence) -> Finding | None:
    grown = evidence.growth
    killed = memory_end(evidence)
    if killed is MemoryEnd.NO or not grown.worker_gains:
        return None
    parent = max(0, grown.total.bytes)
    if grown.when != GrowthShape.IN_WORKERS and grown.workers.bytes < max(parent, 128 << 20):
        return None
    all_started = evidence.all(ev.WorkersStarted)
    started = max(all_started, key=lambda said: said.event.count, default=None)
    facts = [
        Fact(
            f"{counted(len(grown.worker_gains), 'process', 'processes')} below it grew by "
            f"{size(grown.workers.bytes)} of their own memory",
            grown.workers.source,
        ),
        Fact(f"the main process grew by {size(parent)}", grown.total.source),
    ]
    if started is not None:
        facts.append(
            Fact(
                f"{started.event.count} were started by {started.event.by} ({started.event.method})"
                + (f" at {started.event.where}" if started.event.where else ""),
                started.source,
            )
        )
    facts += at_the_end(evidence)
    gains = grown.worker_gains
    if len(gains) > 1 and gains[1] < 0.25 * gains[0]:
        return _one_of_several(gains, facts, killed)
    return Finding(
        "worker-memory-grows",
        Strength.ESTABLISHED
        if grown.when == GrowthShape.IN_WORKERS and len(gains) > 1
        else Strength.SUPPORTED,
        "the loader's processes grow until memory is full; the main process does not",
        tuple(facts),
        (),
        (
            Remedy(
                "keep what all workers read in one NumPy array or file, not in lists and dicts of Python",
                "your-choice",
                "names = np.array(names)   # reading a Python list copies its pages in every forked worker",
            ),
            Remedy("fewer workers, or threads: workers=1, use_multiprocessing=False", "your-choice"),
        ),
        led_to=killed.cause,
    )


def _one_of_several(gains: tuple[int, ...], facts: list[Fact], killed: MemoryEnd) -> Finding:
    """What all do alike would have made all of them grow: it is rather the one thing that this one was given."""
    return Finding(
        "worker-memory-grows",
        Strength.POSSIBLE,
        f"one process below it grew by {size(gains[0])}",
        tuple(facts),
        (Fact(f"the next grew by {size(gains[1])} only, with the same work to do", "vitals.jsonl"),),
        (
            Remedy("look at what that one was given: a sample far larger than the others", "your-choice"),
            Remedy("find outliers before: `holdfast check DATA` names images far out of line", "automatic"),
        ),
        led_to=killed.cause,
    )
