"""The shuffle buffer holds more than memory allows."""

from holdfast.explain.causes.memory.ran_out import ran_out, takes_most
from holdfast.explain.readings.end import before_first_step
from holdfast.explain.readings.growth import WHILE_FILLING, GrowthShape
from holdfast.explain.readings.memory import MemoryEnd, growth_seen, memory_end
from holdfast.explain.readings.pipeline import PipelineNode, largest
from holdfast.explain.rule import Evidence, Fact, Finding, Phase, Remedy, RuledOut, Strength, Title, cause

#: TensorFlow logs this about every ten seconds while it fills a buffer.
_LOGGED = r"[Ff]illing up shuffle buffer.*?(\d+) of (\d+)"
#: Share of the growth below which a full buffer does not explain it. Chosen, and low: the size of an element is an
#: estimate, without what the allocator adds.
_EXPLAINS = 0.3


@cause("shuffle-buffer-too-large", specialises=("memory-leak",))
def shuffle_buffer_too_large(evidence: Evidence) -> Finding | RuledOut | None:
    rise, logged = evidence.growth.rise, evidence.output.last(_LOGGED, advice=True)
    node = largest([node for node in evidence.nodes if node.op == "shuffle"])
    if memory_end(evidence) is MemoryEnd.NO or (node is None and logged is None):
        return None
    if not _filling(evidence):
        source = rise.source if rise.last_line else "beats"
        return RuledOut("shuffle-buffer-too-large.not-while-filling", {}, source)
    elements, held, against = None, None, []
    facts, strength = growth_seen(evidence), _strength(evidence, node)
    if node is not None:
        elements, held = node.buffer_size or None, node.holds_bytes()
        facts.append(node.fact)
    if node is not None and held and rise.bytes and held < _EXPLAINS * rise.bytes:
        values = {"full_bytes": held, "grown_bytes": rise.bytes}
        strength, against = Strength.POSSIBLE, [Fact("pipeline.buffer-below-growth", values, node.source)]
    facts += [Fact("output.quoted", {"text": logged.text}, logged.source)] if logged is not None else []
    facts += before_first_step(evidence)
    title = Title("shuffle-buffer-too-large", {"elements": elements, "full_bytes": held})
    remedies = [Remedy("shuffle.before-decoding"), Remedy("shuffle.smaller-buffer")]
    return ran_out(evidence, strength, title, facts, remedies, against=against)


def _filling(evidence: Evidence) -> bool:
    awaited = evidence.phase in (Phase.FILL, Phase.COMPILE, Phase.DATA_WAIT) and not evidence.step
    return evidence.growth.when in WHILE_FILLING or awaited


def _strength(evidence: Evidence, node: PipelineNode | None) -> Strength:
    caches = any(one.op == "cache" for one in evidence.nodes)
    alone = not caches and evidence.growth.when == GrowthShape.BEFORE_FIRST_STEP
    most = node is not None and takes_most(evidence, node.holds_bytes())
    return Strength.established_if(alone and most)
