"""An in-memory cache of decoded data outgrows memory."""

from holdfast.explain.causes.memory.ran_out import ran_out, takes_most
from holdfast.explain.readings.growth import WHILE_FILLING, GrowthShape
from holdfast.explain.readings.memory import MemoryEnd, grew, memory_end
from holdfast.explain.readings.pipeline import PipelineNode, largest
from holdfast.explain.rule import Evidence, Fact, Finding, Remedy, RuledOut, Strength, Title, cause

#: Growth in which a cache has no part.
_ELSEWHERE = (GrowthShape.IN_WORKERS, GrowthShape.IN_VALIDATION, GrowthShape.BETWEEN_FITS, GrowthShape.NONE)
#: Growth a step, in batches, that counts as "one batch a step". Chosen: wide enough for elements that are kept
#: with overhead and for steps that were counted late, and narrow enough to tell a leak of another size.
_LEAST_BATCHES, _MOST_BATCHES = 0.5, 2
#: Steps below which growth a step is too noisy to speak against a cache.
_ENOUGH_STEPS = 10


@cause("cache-too-large", specialises=("memory-leak",))
def cache_too_large(evidence: Evidence) -> Finding | RuledOut | None:
    growth = evidence.growth
    cache = largest([node for node in evidence.nodes if node.op == "cache" and not _on_disk(node)])
    if memory_end(evidence) is MemoryEnd.NO or cache is None:
        return None
    if growth.when == GrowthShape.EVERY_STEP and len(growth.by_epoch) > 2:
        return RuledOut("cache-too-large.grows-in-later-epochs", {}, growth.total.source)
    if growth.when in _ELSEWHERE:
        return None
    per_step, batch = growth.training.per_step or growth.rise.per_step, evidence.batch_bytes
    fits = bool(batch and per_step and _LEAST_BATCHES < per_step / batch < _MOST_BATCHES)
    values = {"bytes": per_step, "batch_bytes": batch}
    facts = [cache.fact, grew(evidence)]
    facts += [Fact("memory.batch-a-step", values, cache.source)] if fits else []
    unlike = batch and per_step and not fits and growth.rise.steps > _ENOUGH_STEPS
    return ran_out(
        evidence,
        _strength(evidence, cache, fits=fits),
        Title("cache-too-large", {"full_bytes": cache.holds_bytes()}),
        facts,
        [Remedy("cache.encoded"), Remedy("cache.on-disk")],
        against=[Fact("memory.not-a-batch-a-step", values, growth.rise.source)] if unlike else (),
    )


def _strength(evidence: Evidence, cache: PipelineNode, *, fits: bool) -> Strength:
    before_steps = evidence.growth.when in WHILE_FILLING
    shuffles = any(node.op == "shuffle" for node in evidence.nodes)
    most = takes_most(evidence, cache.holds_bytes())
    if before_steps and shuffles:
        return Strength.POSSIBLE
    if fits and most and not before_steps and not shuffles:
        return Strength.ESTABLISHED
    return Strength.supported_if(fits or most or not evidence.batch_bytes)


def _on_disk(node: PipelineNode) -> bool:
    return bool(node.settings.get("filename") or node.settings.get("file"))
