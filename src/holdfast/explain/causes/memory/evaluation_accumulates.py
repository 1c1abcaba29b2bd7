"""Memory rises during validation only: results are being collected."""

from __future__ import annotations

from holdfast.explain.causes.memory.thresholds import EXPLAINS_GROWTH, PART_OF_GROWTH
from holdfast.explain.readings.growth import GrowthShape
from holdfast.explain.readings.memory import MemoryEnd, at_the_end, grew, kept_by_objects, memory_end
from holdfast.explain.rule import Evidence, Fact, Finding, Remedy, Strength, Title, cause

#: Share of validation's growth below which training steps count as flat. Chosen.
_FLAT = 0.3


@cause("evaluation-accumulates", specialises=("memory-leak",))
def evaluation_accumulates(evidence: Evidence) -> Finding | None:
    growth, ended = evidence.growth, memory_end(evidence)
    if ended is MemoryEnd.NO or growth.when != GrowthShape.IN_VALIDATION:
        return None
    kept, total = kept_by_objects(evidence), growth.total.bytes
    named = kept is not None and kept.bytes > EXPLAINS_GROWTH * total
    facts = [grew(evidence)]
    if growth.training.bytes < _FLAT * growth.validation.bytes:
        values = {"bytes": max(0, growth.training.bytes)}
        facts.append(Fact("memory.grew-in-training", values, growth.total.source))
    if kept is not None and kept.bytes > PART_OF_GROWTH * total:
        facts.append(kept.fact)
    return Finding(
        Strength.ESTABLISHED if named else Strength.SUPPORTED,
        Title("evaluation-accumulates", {"name": kept.name if named and kept is not None else ""}),
        because=[*facts, *at_the_end(evidence)],
        remedies=[Remedy("evaluation.keep-numbers")],
        led_to=ended.cause,
    )
