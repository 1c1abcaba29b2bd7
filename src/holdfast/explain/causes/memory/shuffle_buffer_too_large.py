"""The shuffle buffer holds more than memory allows."""

from __future__ import annotations

from holdfast.explain.causes.memory.thresholds import MOST_OF_LIMIT
from holdfast.explain.readings.end import before_first_step
from holdfast.explain.readings.growth import WHILE_FILLING, GrowthShape
from holdfast.explain.readings.memory import MemoryEnd, at_the_end, grew, memory_end, share_of_limit
from holdfast.explain.readings.pipeline import largest
from holdfast.explain.rule import Evidence, Fact, Finding, Phase, Remedy, RuledOut, Strength, Title, cause

#: TensorFlow logs this about every ten seconds while it fills a buffer.
_LOGGED = r"[Ff]illing up shuffle buffer.*?(\d+) of (\d+)"
#: Share of the growth below which a full buffer does not explain it. Chosen, and low: the size of an element is an
#: estimate, without what the allocator adds.
_EXPLAINS = 0.3


@cause("shuffle-buffer-too-large", specialises=("memory-leak",))
def shuffle_buffer_too_large(evidence: Evidence) -> Finding | RuledOut | None:
    ended, growth = memory_end(evidence), evidence.growth
    node = largest([node for node in evidence.nodes if node.op == "shuffle"])
    logged = evidence.output.last(_LOGGED, advice=True)
    if ended is MemoryEnd.NO or (node is None and logged is None):
        return None
    if not _filling(evidence):
        source = growth.rise.source if growth.rise.last_line else "beats"
        return RuledOut("shuffle-buffer-too-large.not-while-filling", {}, source)
    held = node.holds_bytes() if node is not None else None
    too_small = bool(held and growth.rise.bytes and held < _EXPLAINS * growth.rise.bytes)
    facts = [grew(evidence)] if growth.when != GrowthShape.NONE else []
    facts += [node.fact] if node is not None else []
    facts += [Fact("output.quoted", {"text": logged.text}, logged.source)] if logged is not None else []
    facts += before_first_step(evidence)
    values = {"elements": (node.buffer_size or None) if node is not None else None, "full_bytes": held}
    return Finding(
        Strength.POSSIBLE if too_small else _strength(evidence, held),
        Title("shuffle-buffer-too-large", values),
        because=[*facts, *at_the_end(evidence)],
        against=[_less_than_growth(held, growth.rise.bytes, node.source)] if too_small and node else (),
        remedies=[Remedy("shuffle.before-decoding"), Remedy("shuffle.smaller-buffer")],
        led_to=ended.cause,
    )


def _filling(evidence: Evidence) -> bool:
    awaited = evidence.phase in (Phase.FILL, Phase.COMPILE, Phase.DATA_WAIT) and not evidence.step
    return evidence.growth.when in WHILE_FILLING or awaited


def _strength(evidence: Evidence, held: int | None) -> Strength:
    caches = any(node.op == "cache" for node in evidence.nodes)
    alone = not caches and evidence.growth.when == GrowthShape.BEFORE_FIRST_STEP
    most = (share_of_limit(evidence, held) or 0) > MOST_OF_LIMIT
    return Strength.ESTABLISHED if most and alone else Strength.SUPPORTED


def _less_than_growth(held: int | None, grown: int, source: str) -> Fact:
    return Fact("pipeline.buffer-below-growth", {"full_bytes": held, "grown_bytes": grown}, source)
