"""An in-memory cache of decoded data outgrows memory."""

import math

from holdfast.explain.causes.memory.ran_out import explains_growth, ran_out, takes_most
from holdfast.explain.readings.growth import WHILE_FILLING, GrowthShape
from holdfast.explain.readings.memory import MemoryEnd, grew, kept_by_objects, memory_end
from holdfast.explain.readings.numbers import whole_or_none
from holdfast.explain.readings.pipeline import INFINITE, PipelineNode, largest
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
    if memory_end(evidence) is MemoryEnd.NO:
        return None
    if cache is None:
        return _of_the_script(evidence)
    later = growth.when == GrowthShape.EVERY_STEP and len(growth.by_epoch) > 2
    if later and not _still_filling(evidence, cache):
        return RuledOut("cache-too-large.grows-in-later-epochs", {}, growth.total.source)
    if growth.when in _ELSEWHERE or (later and explains_growth(evidence, kept_by_objects(evidence))):
        return None
    per_step, batch = growth.training.per_step or growth.rise.per_step, _kept_a_step(evidence, cache)
    fits = bool(batch and per_step and _LEAST_BATCHES < per_step / batch < _MOST_BATCHES)
    values = {"bytes": per_step, "batch_bytes": batch}
    endless = cache.cardinality == INFINITE
    facts = [_endless(evidence, cache)] if endless else []
    facts += [cache.fact, grew(evidence)]
    facts += [Fact("memory.batch-a-step", values, cache.source)] if fits else []
    unlike = batch and per_step and not fits and growth.rise.steps > _ENOUGH_STEPS
    sure = later or (endless and growth.when not in WHILE_FILLING)
    return ran_out(
        evidence,
        _of_filling(evidence, cache, fits=fits) if sure else _strength(evidence, cache, fits=fits),
        _title(evidence, cache),
        facts,
        [_before_repeat(evidence, cache)] if endless else [Remedy("cache.encoded"), Remedy("cache.on-disk")],
        against=[Fact("memory.not-a-batch-a-step", values, growth.rise.source)] if unlike else (),
    )


def _nodes(evidence: Evidence, cache: PipelineNode) -> tuple[list[PipelineNode], list[PipelineNode]]:
    """Those before the cache and those behind it."""
    at = evidence.nodes.index(cache)
    return list(evidence.nodes[:at]), list(evidence.nodes[at + 1 :])


def _elements_a_step(evidence: Evidence, cache: PipelineNode) -> int | None:
    """How many of its elements a batch takes."""
    _, behind = _nodes(evidence, cache)
    sizes = [whole_or_none(node.settings.get("batch_size")) for node in behind if node.op == "batch"]
    return math.prod(size for size in sizes if size) if all(sizes) else None


def _kept_a_step(evidence: Evidence, cache: PipelineNode) -> int | None:
    each, count = cache.element_bytes, _elements_a_step(evidence, cache)
    return each * count if each and count else evidence.batch_bytes


def _still_filling(evidence: Evidence, cache: PipelineNode) -> bool:
    """A cache is full when it has seen all its elements, which an epoch of a planned number of steps does not say."""
    if cache.cardinality == INFINITE:
        return True
    count = _elements_a_step(evidence, cache)
    return bool(cache.cardinality and count and cache.cardinality > count * evidence.growth.last_step)


def _of_filling(evidence: Evidence, cache: PipelineNode, *, fits: bool) -> Strength:
    """What is mapped behind the cache may be larger or smaller there than in it."""
    _, behind = _nodes(evidence, cache)
    if fits:
        return Strength.ESTABLISHED
    return Strength.supported_if(any(node.op == "map" for node in behind) or not evidence.batch_bytes)


def _title(evidence: Evidence, cache: PipelineNode) -> Title:
    if cache.cardinality == INFINITE:
        return Title("cache-too-large.endless", {"repeats": _repeats(evidence, cache)})
    return Title("cache-too-large", {"full_bytes": cache.holds_bytes()})


def _repeats(evidence: Evidence, cache: PipelineNode) -> bool:
    """Its input is endless because of a repeat, and not by itself."""
    before, _ = _nodes(evidence, cache)
    return any(node.op == "repeat" for node in before)


def _endless(evidence: Evidence, cache: PipelineNode) -> Fact:
    before, _ = _nodes(evidence, cache)
    return Fact("pipeline.endless-before-cache", {"ops": [node.op for node in before]}, cache.source)


def _before_repeat(evidence: Evidence, cache: PipelineNode) -> Remedy:
    """The same pipeline with the cache before what repeats and shuffles."""
    if not _repeats(evidence, cache):
        return Remedy("cache.finite-part")
    before, _ = _nodes(evidence, cache)
    functions = [str(node.settings.get("function") or "") for node in before if node.op == "map"]
    buffers = [node.buffer_size for node in before if node.op == "shuffle"]
    values = {"functions": functions, "buffer": buffers[0] if buffers else None}
    return Remedy("cache.before-repeat", values)


def _of_the_script(evidence: Evidence) -> Finding | None:
    """A container that holds as many entries as it was made for, as a buffer of replays does: no leak, and too much."""
    kept = kept_by_objects(evidence)
    if kept is None or kept.limit is None or kept.is_queue or not explains_growth(evidence, kept):
        return None
    values = {"name": kept.name, "limit": kept.limit, "full_bytes": kept.full_bytes}
    remedy = Remedy("cache.fewer-entries", {"name": kept.name, "limit": kept.limit})
    title = Title("cache-too-large.container", values)
    return ran_out(evidence, Strength.ESTABLISHED, title, [kept.fact, grew(evidence)], [remedy])


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
