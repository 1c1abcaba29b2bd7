"""An in-memory cache of decoded data outgrows memory."""

from __future__ import annotations

from holdfast.explain.causes.declare import Group, cause
from holdfast.explain.evidence import Evidence
from holdfast.explain.readings.growth import GrowthShape
from holdfast.explain.readings.memory import MemoryEnd, memory_end
from holdfast.explain.readings.pipeline import PipelineNode
from holdfast.explain.unconverted import Fact, Finding, Remedy, RuledOut, Strength, at_the_end, grew
from holdfast.explain.words import size


@cause("cache-too-large", Group.MEMORY, specialises=("memory-leak",))
def cache_too_large(evidence: Evidence) -> Finding | RuledOut | None:
    ended = memory_end(evidence)
    caches = [node for node in evidence.nodes if node.op == "cache" and not _on_disk(node)]
    if ended is MemoryEnd.NO or not caches:
        return None
    grown = evidence.growth
    if grown.when == GrowthShape.EVERY_STEP and len(grown.by_epoch) > 2:
        return RuledOut(
            "cache-too-large",
            "memory went on rising in later epochs, when a cache is full already",
            grown.total.source,
        )
    if grown.when in (
        GrowthShape.IN_WORKERS,
        GrowthShape.IN_VALIDATION,
        GrowthShape.BETWEEN_FITS,
        GrowthShape.NONE,
    ):
        return None
    node = max(caches, key=lambda one: one.holds_bytes() or 0)
    place = f" ({node.where})" if node.where else ""
    held = node.holds_bytes()
    kept = f", {size(held)} when it is full" if held else ""
    facts = [Fact(f"cache{place} keeps every element in memory{kept}", node.source), grew(evidence)]
    slope, batch = grown.training.per_step or grown.rise.per_step, evidence.batch_bytes
    fits = bool(batch and slope and 0.5 < slope / batch < 2)
    if fits and batch:
        facts.append(Fact(f"that is about one batch a step: a batch has {size(batch)}", node.source))
    facts += at_the_end(evidence)
    shuffles = [one for one in evidence.nodes if one.op == "shuffle"]
    before = grown.when in (GrowthShape.BEFORE_FIRST_STEP, GrowthShape.AT_FIT_ENTRY)
    limit = evidence.memory_limit[0] if evidence.memory_limit else None
    too_large = bool(held and limit and held > 0.5 * limit)
    strength = Strength.SUPPORTED if fits or too_large or not batch else Strength.POSSIBLE
    if fits and too_large and not before and not shuffles:
        strength = Strength.ESTABLISHED
    if before and shuffles:
        strength = Strength.POSSIBLE
    against: tuple[Fact, ...] = ()
    if batch and slope and not fits and grown.rise.steps > 10:
        against = (
            Fact(f"memory rose by {size(slope)} a step; a batch has {size(batch)}", grown.rise.source),
        )
    return Finding(
        "cache-too-large",
        strength,
        "the in-memory cache of the dataset outgrows memory" + (f": {size(held)} when full" if held else ""),
        tuple(facts),
        against,
        (
            Remedy(
                "cache the encoded bytes, before decoding, or do not cache",
                "your-choice",
                "ds = files.map(tf.io.read_file).cache().map(decode)",
            ),
            Remedy(
                "cache to a file on a fast disk", "your-choice", 'ds = ds.cache("/fast-disk/train.cache")'
            ),
        ),
        led_to=ended.cause,
    )


def _on_disk(node: PipelineNode) -> bool:
    return bool(node.settings.get("filename") or node.settings.get("file"))
