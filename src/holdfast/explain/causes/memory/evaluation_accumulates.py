"""Memory rises during validation only: results are being collected."""

from holdfast.explain.causes.memory.ran_out import ran_out
from holdfast.explain.causes.memory.thresholds import EXPLAINS_GROWTH, PART_OF_GROWTH
from holdfast.explain.readings.growth import GrowthShape
from holdfast.explain.readings.memory import MemoryEnd, grew, kept_by_objects, memory_end
from holdfast.explain.rule import Evidence, Fact, Finding, Remedy, Strength, Title, cause

#: Share of validation's growth below which training steps count as flat. Chosen.
_FLAT = 0.3


@cause("evaluation-accumulates", specialises=("memory-leak",))
def evaluation_accumulates(evidence: Evidence) -> Finding | None:
    growth = evidence.growth
    if memory_end(evidence) is MemoryEnd.NO or growth.when != GrowthShape.IN_VALIDATION:
        return None
    kept, trained, total = kept_by_objects(evidence), growth.training.bytes, growth.total
    facts = [grew(evidence)]
    if trained < _FLAT * growth.validation.bytes:
        facts.append(Fact("memory.grew-in-training", {"bytes": max(0, trained)}, total.source))
    if kept is not None and kept.bytes > PART_OF_GROWTH * total.bytes:
        facts.append(kept.fact)
    name = kept.name if kept is not None and kept.bytes > EXPLAINS_GROWTH * total.bytes else ""
    title = Title("evaluation-accumulates", {"name": name})
    return ran_out(evidence, Strength.established_if(name), title, facts, [Remedy("evaluation.keep-numbers")])
