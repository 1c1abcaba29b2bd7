"""A prefetch or loader queue holds more batches than memory allows."""

from holdfast.explain.causes.memory.ran_out import explains_growth, ran_out, takes_most
from holdfast.explain.causes.memory.thresholds import DEEP_QUEUE
from holdfast.explain.readings.growth import GrowthShape
from holdfast.explain.readings.memory import (
    Kept,
    MemoryEnd,
    growth_seen,
    kept_by_objects,
    memory_end,
    share_of_limit,
)
from holdfast.explain.readings.pipeline import PipelineNode, holders, largest
from holdfast.explain.rule import Evidence, Fact, Finding, Remedy, RuledOut, Strength, Title, cause

_ELSEWHERE = (GrowthShape.IN_WORKERS, GrowthShape.IN_VALIDATION, GrowthShape.BETWEEN_FITS)
#: Share of the limit below which a full queue is a small part of the memory, and ruled out. Chosen.
_LITTLE = 0.1
#: Times its depth in steps after which a queue was full long ago. Chosen: a loader that is twice as fast as the model
#: fills it in as many steps as it is deep.
_FULL_LONG_AGO = 5


@cause("prefetch-too-deep", specialises=("memory-leak",))
def prefetch_too_deep(evidence: Evidence) -> Finding | RuledOut | None:
    if memory_end(evidence) is MemoryEnd.NO or evidence.growth.when in _ELSEWHERE:
        return None
    kept, queue = kept_by_objects(evidence), _queue(evidence)
    if kept is not None and kept.is_queue and explains_growth(evidence, kept):
        return _of_the_script(evidence, kept)
    depth = (queue.buffer_size or 0) if queue is not None else 0
    if queue is None or depth < DEEP_QUEUE:
        return None
    held = queue.holds_bytes()
    share = share_of_limit(evidence, held)
    if share is not None and share < _LITTLE:
        return RuledOut("prefetch-too-deep.small", {"full_bytes": held}, queue.source)
    strength, against = _strength(evidence, held), []
    if evidence.step and evidence.step > _FULL_LONG_AGO * depth:
        values = {"steps": evidence.step, "batches": depth}
        strength, against = Strength.POSSIBLE, [Fact("queue.full-long-ago", values, "beats")]
    title = Title("prefetch-too-deep", {"batches": depth, "full_bytes": held})
    facts = [queue.fact, *growth_seen(evidence)]
    return ran_out(evidence, strength, title, facts, [Remedy("prefetch.two-batches")], against=against)


def _of_the_script(evidence: Evidence, kept: Kept) -> Finding | None:
    """A queue between threads. One that nothing is taken out of is no queue of batches, but a leak."""
    if kept.limit is None and not kept.is_emptied:
        return None
    values = {"name": kept.name, "limit": kept.limit, "full_bytes": kept.full_bytes}
    facts = [kept.fact, *growth_seen(evidence)]
    remedy = Remedy("queue.smaller", {"name": kept.name, "limit": kept.limit})
    return ran_out(evidence, Strength.ESTABLISHED, Title("prefetch-too-deep.queue", values), facts, [remedy])


def _strength(evidence: Evidence, held: int | None) -> Strength:
    rivals = [node for node in evidence.nodes if node.op in ("cache", "shuffle")]
    larger = [node for other, node in holders(evidence) if node in rivals and other > (held or 0)]
    if larger or (held is None and rivals):
        return Strength.POSSIBLE
    return Strength.established_if(takes_most(evidence, held))


def _queue(evidence: Evidence) -> PipelineNode | None:
    """The deepest prefetch; without one, the queue of Keras's loader."""
    data, bytes_each = evidence.data(), evidence.batch_bytes
    node = largest([one for one in evidence.nodes if one.op == "prefetch" and (one.buffer_size or 0) > 0])
    if node is not None or data is None or not data.event.max_queue_size:
        return node
    depth = data.event.max_queue_size
    return PipelineNode("prefetch", depth, bytes_each, None, "max_queue_size", data.source, {})
