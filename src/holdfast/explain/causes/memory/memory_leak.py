"""Something keeps a little more at every step."""

from __future__ import annotations

from holdfast.explain.causes.memory.thresholds import DEEP_QUEUE, EXPLAINS_GROWTH, PART_OF_GROWTH
from holdfast.explain.readings.growth import WHILE_FILLING, GrowthShape
from holdfast.explain.readings.memory import (
    Kept,
    MemoryEnd,
    at_the_end,
    grew,
    growth_values,
    kept_by_objects,
    memory_end,
)
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
    growth, ended, kept = evidence.growth, memory_end(evidence), kept_by_objects(evidence)
    if ended is MemoryEnd.NO:
        return _harmless(evidence, kept)
    if growth.when in _NOT_AT_STEPS:
        return RuledOut("memory-leak.not-at-steps", growth_values(evidence), growth.rise.source)
    if growth.when == GrowthShape.FIRST_EPOCH and growth.flattened:
        return RuledOut("memory-leak.stopped-growing", {}, growth.total.source)
    kept_bytes, total = kept.bytes if kept is not None else 0, max(1, growth.total.bytes)
    if growth.when == GrowthShape.NONE and kept_bytes < _MUCH_OF_PEAK * max(1, growth.peak_bytes):
        return None
    named = kept if kept_bytes * _steps_since(evidence) > EXPLAINS_GROWTH * total else None
    shown = [kept.fact] if kept is not None and kept_bytes > PART_OF_GROWTH * total else []
    strength = _strength(evidence, named)
    rivals = [node for node in evidence.nodes if node.op in ("cache", "shuffle")]
    against = [Fact("pipeline.fills-in-first-epoch", {"op": one.op}, one.source) for one in rivals[:1]]
    return Finding(
        strength,
        _title(named, growth.rise.per_step),
        because=[grew(evidence), *shown, *at_the_end(evidence)],
        against=against if strength == Strength.POSSIBLE else (),
        remedies=_remedies(named),
        led_to=ended.cause,
    )


def _steps_since(evidence: Evidence) -> float:
    """How many times more steps were done at the end than when containers were last measured."""
    measured = evidence.last(ev.HoldingsSeen)
    if measured is None or not measured.event.step or not evidence.step:
        return 1.0
    return max(1.0, evidence.step / measured.event.step)


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
    return Strength.SUPPORTED if known and not buffers and evidence.growth.steady else Strength.POSSIBLE


def _harmless(evidence: Evidence, kept: Kept | None) -> Finding | None:
    """Memory did not run out. A container that grows at every step is worth a hint, no more."""
    growth = evidence.growth
    if growth.when != GrowthShape.EVERY_STEP or kept is None:
        return None
    if kept.bytes < max(_WORTH_SHOWING_BYTES, EXPLAINS_GROWTH * growth.total.bytes):
        return None
    return Finding(
        Strength.POSSIBLE,
        _title(kept, growth.rise.per_step),
        because=[grew(evidence), kept.fact],
        against=[Fact("memory.did-not-run-out", {}, evidence.exit_source)],
        remedies=_remedies(kept),
        ends=False,
    )


def _title(kept: Kept | None, per_step: float) -> Title:
    return Title("memory-leak", {"name": kept.name if kept is not None else "", "bytes": per_step})


def _remedies(kept: Kept | None) -> tuple[Remedy, ...]:
    if kept is not None:
        return (Remedy("object.bound", {"name": kept.name}),)
    return Remedy("object.find-what-grows", safety="guess"), Remedy("memory.other-allocator", safety="guess")
