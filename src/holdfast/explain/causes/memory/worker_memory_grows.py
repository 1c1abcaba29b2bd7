"""The loader's processes grow, the parent does not: copies after a fork, or a leak in the loader."""

from holdfast.explain.causes.memory.ran_out import ran_out
from holdfast.explain.readings.growth import GrowthShape
from holdfast.explain.readings.memory import MemoryEnd, memory_end, only_waits
from holdfast.explain.readings.workers import workers_started
from holdfast.explain.rule import Evidence, Fact, Finding, Remedy, Strength, Title, cause

#: Growth of all workers together that is worth blaming. Chosen: an interpreter and its libraries take some
#: while workers warm up.
_WORTH_BLAMING_BYTES = 128 << 20
#: Part of the largest worker's growth below which the next one did not grow with it: all workers do the same
#: work, and what all do alike makes all of them grow.
_ALONE = 0.25


@cause("worker-memory-grows", specialises=("memory-leak",))
def worker_memory_grows(evidence: Evidence) -> Finding | None:
    growth, gains = evidence.growth, evidence.growth.worker_gains
    if memory_end(evidence) is MemoryEnd.NO or not gains or only_waits(evidence):
        return None
    in_workers, parent = growth.when == GrowthShape.IN_WORKERS, max(0, growth.total.bytes)
    if not in_workers and growth.workers.bytes < max(parent, _WORTH_BLAMING_BYTES):
        return None
    values = {"processes": len(gains), "bytes": growth.workers.bytes, "parent_bytes": parent}
    facts = [Fact("workers.grew", values, growth.workers.source), *workers_started(evidence)]
    if len(gains) > 1 and gains[1] < _ALONE * gains[0]:
        title = Title("worker-memory-grows.one", {"bytes": gains[0]})
        against = [Fact("workers.next-grew", {"bytes": gains[1]}, "vitals.jsonl")]
        remedies = [Remedy("worker.look-at-its-input"), Remedy("data.check", safety="automatic")]
        return ran_out(evidence, Strength.POSSIBLE, title, facts, remedies, against=against)
    strength = Strength.established_if(in_workers and len(gains) > 1)
    remedies = [Remedy("workers.share-arrays"), Remedy("workers.fewer")]
    return ran_out(evidence, strength, Title("worker-memory-grows"), facts, remedies)
