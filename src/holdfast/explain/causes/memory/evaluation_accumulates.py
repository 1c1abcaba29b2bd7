"""Memory rises during validation only: results are being collected."""

from itertools import accumulate, pairwise

from holdfast.explain.causes.memory.ran_out import explains_growth, ran_out
from holdfast.explain.causes.memory.thresholds import EXPLAINS_GROWTH, PART_OF_GROWTH
from holdfast.explain.readings.growth import GrowthShape
from holdfast.explain.readings.memory import MemoryEnd, grew, kept_by_objects, memory_end
from holdfast.explain.rule import Evidence, Fact, Finding, Remedy, Strength, Title, cause, ev

#: Share of validation's growth below which training steps count as flat. Chosen.
_FLAT = 0.3


@cause("evaluation-accumulates", specialises=("memory-leak",))
def evaluation_accumulates(evidence: Evidence) -> Finding | None:
    growth = evidence.growth
    if memory_end(evidence) is MemoryEnd.NO:
        return None
    if growth.when != GrowthShape.IN_VALIDATION:
        return _between_passes(evidence) if evidence.fit is None else None
    kept, trained, total = kept_by_objects(evidence), growth.training.bytes, growth.total
    facts = [grew(evidence)]
    if trained < _FLAT * growth.validation.bytes:
        facts.append(Fact("memory.grew-in-training", {"bytes": max(0, trained)}, total.source))
    if kept is not None and kept.bytes > PART_OF_GROWTH * total.bytes:
        facts.append(kept.fact)
    name = kept.name if kept is not None and kept.bytes > EXPLAINS_GROWTH * total.bytes else ""
    title = Title("evaluation-accumulates", {"name": name})
    return ran_out(evidence, Strength.established_if(name), title, facts, [Remedy("evaluation.keep-numbers")])


def _between_passes(evidence: Evidence) -> Finding | None:
    """Of a loop of the script's own: a container grew while no step was done, after a pass over the training data."""
    kept, samples = kept_by_objects(evidence), [one for _, one in evidence.samples if one.rss_bytes]
    ends = set(accumulate(one.event.steps for one in evidence.all(ev.PassDone)))
    between, at_steps = 0, 0
    for before, after in pairwise(one for one in samples if one.step):
        rise = max(0, after.rss_bytes - before.rss_bytes)
        if before.step == after.step and after.step in ends:
            between += rise
        else:
            at_steps += rise
    if kept is None or kept.limit is not None or not explains_growth(evidence, kept) or between <= at_steps:
        return None
    facts = [
        grew(evidence),
        Fact("memory.grew-in-training", {"bytes": at_steps}, evidence.growth.total.source),
    ]
    title = Title("evaluation-accumulates", {"name": kept.name})
    remedies = [Remedy("evaluation.keep-numbers")]
    return ran_out(evidence, Strength.SUPPORTED, title, [*facts, kept.fact], remedies)
