"""A prefetch or loader queue holds more batches than memory allows."""

from __future__ import annotations

from holdfast.explain.causes.memory.thresholds import DEEP_QUEUE, MOST_OF_LIMIT
from holdfast.explain.readings.growth import GrowthShape
from holdfast.explain.readings.memory import MemoryEnd, at_the_end, grew, memory_end, share_of_limit
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
    ended, queue, growth = memory_end(evidence), _queue(evidence), evidence.growth
    depth = (queue.buffer_size or 0) if queue is not None else 0
    if ended is MemoryEnd.NO or queue is None or depth < DEEP_QUEUE or growth.when in _ELSEWHERE:
        return None
    held = queue.holds_bytes()
    share = share_of_limit(evidence, held)
    if share is not None and share < _LITTLE:
        return RuledOut("prefetch-too-deep.small", {"full_bytes": held}, queue.source)
    full_long_ago = bool(evidence.step and evidence.step > _FULL_LONG_AGO * depth)
    steps = Fact("queue.full-long-ago", {"steps": evidence.step, "batches": depth}, "beats")
    facts = [queue.fact, *([grew(evidence)] if growth.when != GrowthShape.NONE else [])]
    return Finding(
        Strength.POSSIBLE if full_long_ago else _strength(evidence, held),
        Title("prefetch-too-deep", {"batches": depth, "full_bytes": held}),
        because=[*facts, *at_the_end(evidence)],
        against=[steps] if full_long_ago else (),
        remedies=[Remedy("prefetch.two-batches")],
        led_to=ended.cause,
    )


def _strength(evidence: Evidence, held: int | None) -> Strength:
    rivals = [node for node in evidence.nodes if node.op in ("cache", "shuffle")]
    larger = [node for other, node in holders(evidence) if node in rivals and other > (held or 0)]
    if larger or (held is None and rivals):
        return Strength.POSSIBLE
    most = (share_of_limit(evidence, held) or 0) > MOST_OF_LIMIT
    return Strength.ESTABLISHED if most else Strength.SUPPORTED


def _queue(evidence: Evidence) -> PipelineNode | None:
    """The deepest prefetch; without one, the queue of Keras's loader."""
    data = evidence.data()
    node = largest([one for one in evidence.nodes if one.op == "prefetch" and (one.buffer_size or 0) > 0])
    if node is not None or data is None or not data.event.max_queue_size:
        return node
    return PipelineNode(
        op="prefetch",
        buffer_size=data.event.max_queue_size,
        element_bytes=evidence.batch_bytes,
        cardinality=None,
        where="max_queue_size",
        source=data.source,
        settings={},
    )
