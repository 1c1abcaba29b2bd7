"""Something keeps a little more at every step."""

from holdfast.explain.causes.memory.ran_out import explains_growth, ran_out
from holdfast.explain.causes.memory.thresholds import DEEP_QUEUE, EXPLAINS_GROWTH, PART_OF_GROWTH
from holdfast.explain.readings.growth import WHILE_FILLING, GrowthShape
from holdfast.explain.readings.memory import Kept, MemoryEnd, grew, growth_values, kept_by_objects, memory_end
from holdfast.explain.rule import Evidence, Fact, Finding, Remedy, RuledOut, Strength, Title, cause, ev

_NOT_AT_STEPS = (
    *WHILE_FILLING,
    GrowthShape.BEFORE_FIT,
    GrowthShape.IN_VALIDATION,
    GrowthShape.IN_WORKERS,
    GrowthShape.ONE_STEP,
    GrowthShape.BETWEEN_FITS,
)
#: Share of all memory that a container must have grown by where the samples show no growth, as in a run too
#: short for them. Chosen.
_MUCH_OF_PEAK = 0.2
#: Growth of a container that is shown although memory did not run out. Chosen: well above what a history of a
#: long training takes.
_WORTH_SHOWING_BYTES = 256 << 20


@cause("memory-leak")
def memory_leak(evidence: Evidence) -> Finding | RuledOut | None:
    growth, kept = evidence.growth, kept_by_objects(evidence)
    if memory_end(evidence) is MemoryEnd.NO:
        return _harmless(evidence, kept)
    if growth.when in _NOT_AT_STEPS:
        return RuledOut("memory-leak.not-at-steps", growth_values(evidence), growth.rise.source)
    if growth.when == GrowthShape.FIRST_EPOCH and growth.flattened:
        return RuledOut("memory-leak.stopped-growing", {}, growth.total.source)
    kept_bytes, total = kept.bytes if kept is not None else 0, max(1, growth.total.bytes)
    if growth.when == GrowthShape.NONE and kept_bytes < _MUCH_OF_PEAK * max(1, growth.peak_bytes):
        return None
    named = kept if explains_growth(evidence, kept) else None
    if named is not None and named.limit is not None:
        return RuledOut("memory-leak.bounded", {"name": named.name, "limit": named.limit}, named.source)
    facts, strength = [grew(evidence)], _strength(evidence, named)
    facts += [kept.fact] if kept is not None and kept_bytes > PART_OF_GROWTH * total else []
    rivals = [node for node in evidence.nodes if node.op in ("cache", "shuffle")]
    against = [Fact("pipeline.fills-in-first-epoch", {"op": one.op}, one.source) for one in rivals[:1]]
    against = against if strength == Strength.POSSIBLE else []
    return ran_out(evidence, strength, _title(evidence, named), facts, _remedies(named), against=against)


def _strength(evidence: Evidence, named: Kept | None) -> Strength:
    if named is not None:
        return Strength.ESTABLISHED
    if evidence.growth.when == GrowthShape.EVERY_STEP:
        return Strength.SUPPORTED
    buffers = any(
        node.op in ("cache", "shuffle") or (node.op == "prefetch" and (node.buffer_size or 0) > DEEP_QUEUE)
        for node in evidence.nodes
    )
    known = bool(evidence.nodes) or evidence.data() is not None or evidence.last(ev.LoopSeen) is not None
    return Strength.supported_if(known and not buffers and evidence.growth.steady)


def _harmless(evidence: Evidence, kept: Kept | None) -> Finding | None:
    """Memory did not run out. A container that grows at every step is worth a hint, no more."""
    growth = evidence.growth
    if growth.when != GrowthShape.EVERY_STEP or kept is None:
        return None
    if kept.bytes < max(_WORTH_SHOWING_BYTES, EXPLAINS_GROWTH * growth.total.bytes):
        return None
    facts, title = [grew(evidence), kept.fact], _title(evidence, kept)
    against = [Fact("memory.did-not-run-out", {}, evidence.exit_source)]
    return Finding(Strength.POSSIBLE, title, facts, _remedies(kept), against=against, ends=False)


def _title(evidence: Evidence, kept: Kept | None) -> Title:
    name = kept.name if kept is not None else ""
    return Title("memory-leak", {"name": name, "bytes": evidence.growth.rise.per_step})


def _remedies(kept: Kept | None) -> list[Remedy]:
    if kept is not None:
        return [Remedy("object.bound", {"name": kept.name})]
    return [
        Remedy("object.find-what-grows", safety="guess"),
        Remedy("memory.other-allocator", safety="guess"),
    ]
