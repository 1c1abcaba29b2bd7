"""Something keeps a little more at every step."""

from __future__ import annotations

from holdfast.explain import finding
from holdfast.explain.causes.declare import Group, cause
from holdfast.explain.evidence import Evidence
from holdfast.explain.readings.growth import GrowthShape
from holdfast.explain.readings.memory import MemoryEnd, growth_values, kept_by_objects, memory_end
from holdfast.explain.unconverted import Fact, Finding, Remedy, RuledOut, Strength, at_the_end, grew
from holdfast.explain.words import size, whole
from holdfast.journal import events as ev


@cause("memory-leak", Group.MEMORY)
def memory_leak(evidence: Evidence) -> Finding | finding.RuledOut | None:
    grown = evidence.growth
    ended = memory_end(evidence)
    kept = kept_by_objects(evidence)
    if ended is MemoryEnd.NO:
        return _without_harm(evidence, kept)
    if grown.when in (
        GrowthShape.BEFORE_FIRST_STEP,
        GrowthShape.AT_FIT_ENTRY,
        GrowthShape.BEFORE_FIT,
        GrowthShape.IN_VALIDATION,
        GrowthShape.IN_WORKERS,
        GrowthShape.ONE_STEP,
        GrowthShape.BETWEEN_FITS,
    ):
        return finding.RuledOut("memory-leak.not-at-steps", growth_values(evidence), grown.rise.source)
    if grown.when == GrowthShape.FIRST_EPOCH and grown.flattened:
        return RuledOut("memory-leak", "memory stopped rising, and a leak does not", grown.total.source)
    if grown.when == GrowthShape.NONE and (kept is None or kept[0] < 0.2 * max(1, grown.peak_bytes)):
        return None
    facts = [grew(evidence)]
    named = kept is not None and kept[0] * _steps_since(evidence) > 0.4 * max(1, grown.total.bytes)
    if kept is not None and kept[0] > 0.1 * max(1, grown.total.bytes):
        facts.append(_holder(kept))
    facts += at_the_end(evidence)
    strength = _strength(evidence, named)
    against: tuple[Fact, ...] = ()
    rivals = [node.op for node in evidence.nodes if node.op in ("cache", "shuffle")]
    if strength == Strength.POSSIBLE and rivals:
        against = (
            Fact(
                f"the pipeline has a {rivals[0]} node, which fills in the first epoch too",
                evidence.nodes[0].source,
            ),
        )
    return Finding(
        "memory-leak",
        strength,
        _title(kept if named else None, grown.rise.per_step),
        tuple(facts),
        against,
        _remedies(kept if named else None),
        led_to=ended.cause,
    )


def _steps_since(evidence: Evidence) -> float:
    """How many times more steps were done at the end than when the holdings were last counted."""
    counted = evidence.last(ev.HoldingsSeen)
    if counted is None or not counted.event.step or not evidence.step:
        return 1.0
    return max(1.0, evidence.step / counted.event.step)


def _strength(evidence: Evidence, named: bool) -> Strength:
    if named:
        return Strength.ESTABLISHED
    if evidence.growth.when == GrowthShape.EVERY_STEP:
        return Strength.SUPPORTED
    holds = [
        node
        for node in evidence.nodes
        if node.op in ("cache", "shuffle") or (node.op == "prefetch" and (node.buffer_size or 0) > 8)
    ]
    pipeline_known = (
        bool(evidence.nodes) or evidence.data() is not None or evidence.last(ev.LoopSeen) is not None
    )
    if pipeline_known and not holds and evidence.growth.steady:
        return Strength.SUPPORTED
    return Strength.POSSIBLE


def _without_harm(evidence: Evidence, kept: tuple[int, dict[str, object], str] | None) -> Finding | None:
    """It did not end for memory. Growth at every step is worth a word, no more."""
    grown = evidence.growth
    if (
        grown.when != GrowthShape.EVERY_STEP
        or kept is None
        or kept[0] < max(256 << 20, 0.4 * grown.total.bytes)
    ):
        return None
    return Finding(
        "memory-leak",
        Strength.POSSIBLE,
        _title(kept, grown.rise.per_step),
        (grew(evidence), _holder(kept)),
        (Fact("memory did not run out", evidence.exit_source),),
        _remedies(kept),
        ends=False,
    )


def _holder(kept: tuple[int, dict[str, object], str]) -> Fact:
    grew_by, item, source = kept
    length = item.get("length")
    count = f", now {whole(length)} entries" if isinstance(length, int) else ""
    where = f" ({item['where']})" if item.get("where") else ""
    return Fact(
        f"{item.get('name')}{where}, a {item.get('type', 'container')}, grew by {size(grew_by)}{count}",
        source,
    )


def _title(kept: tuple[int, dict[str, object], str] | None, per_step: float) -> str:
    rate = f" {size(per_step)} a step" if per_step > 1024 else " more at every step"
    return f"{kept[1].get('name')} keeps{rate}" if kept is not None else f"something keeps{rate}, without end"


def _remedies(kept: tuple[int, dict[str, object], str] | None) -> tuple[Remedy, ...]:
    if kept is None:
        return (
            Remedy(
                "look for a list, a dict or a metric that keeps tensors or arrays; keep numbers instead",
                "guess",
                "history.append(float(loss))   # not the tensor",
            ),
            Remedy(
                "if no Python object grows, try another allocator: MALLOC_ARENA_MAX=2, or tcmalloc by LD_PRELOAD",
                "guess",
            ),
        )
    name = kept[1].get("name")
    return (
        Remedy(
            f"empty {name}, bound it, or keep numbers in it instead of tensors",
            "your-choice",
            "history.append(float(loss))   # not the tensor",
        ),
    )
