"""A prefetch or loader queue holds more batches than memory allows."""

from __future__ import annotations

from holdfast.explain.causes.declare import Group, cause
from holdfast.explain.evidence import Evidence
from holdfast.explain.readings.growth import GrowthShape
from holdfast.explain.readings.memory import MemoryEnd, memory_end
from holdfast.explain.readings.pipeline import holders
from holdfast.explain.unconverted import Fact, Finding, Remedy, RuledOut, Strength, at_the_end, grew
from holdfast.explain.words import size, whole


@cause("prefetch-too-deep", Group.MEMORY, specialises=("memory-leak",))
def prefetch_too_deep(evidence: Evidence) -> Finding | RuledOut | None:
    ended = memory_end(evidence)
    if ended is MemoryEnd.NO:
        return None
    depth, held, where, source = _deepest(evidence)
    if depth is None or depth < 8:
        return None
    grown = evidence.growth
    if grown.when in (GrowthShape.IN_WORKERS, GrowthShape.IN_VALIDATION, GrowthShape.BETWEEN_FITS):
        return None
    limit = evidence.memory_limit[0] if evidence.memory_limit else None
    if held is not None and limit and held < 0.1 * limit:
        return RuledOut(
            "prefetch-too-deep", f"the queue holds {size(held)} when full, a small part of the limit", source
        )
    facts = [
        Fact(
            f"{where} keeps {whole(depth)} batches"
            + (f" of {size(evidence.batch_bytes)}: {size(held)}" if held else ""),
            source,
        )
    ]
    if grown.when != GrowthShape.NONE:
        facts.append(grew(evidence))
    facts += at_the_end(evidence)
    larger = [
        node for other, node in holders(evidence) if node.op in ("cache", "shuffle") and other > (held or 0)
    ]
    outlasted = bool(evidence.step and evidence.step > 5 * depth)
    strength = Strength.SUPPORTED
    against: tuple[Fact, ...] = ()
    if held and limit and held > 0.5 * limit and not larger and not outlasted:
        strength = Strength.ESTABLISHED
    elif (
        larger
        or outlasted
        or (held is None and any(node.op in ("cache", "shuffle") for node in evidence.nodes))
    ):
        strength = Strength.POSSIBLE
    if outlasted:
        against = (
            Fact(f"{evidence.step:,} steps were done; the queue is full after {whole(depth)}", "beats"),
        )
    return Finding(
        "prefetch-too-deep",
        strength,
        f"a queue of {whole(depth)} batches"
        + (f" needs {size(held)}" if held else " is too deep for memory"),
        tuple(facts),
        against,
        (
            Remedy(
                "two batches ahead are enough for any steady pipeline",
                "your-choice",
                "ds = ds.batch(8).prefetch(2)",
            ),
        ),
        led_to=ended.cause,
    )


def _deepest(evidence: Evidence) -> tuple[int | None, int | None, str, str]:
    data = evidence.data()
    nodes = [node for node in evidence.nodes if node.op == "prefetch" and (node.buffer_size or 0) > 0]
    if nodes:
        node = max(nodes, key=lambda one: one.holds_bytes() or one.buffer_size or 0)
        place = f"prefetch ({node.where})" if node.where else "prefetch"
        return node.buffer_size, node.holds_bytes(), place, node.source
    if data is not None and data.event.max_queue_size:
        held = data.event.max_queue_size * evidence.batch_bytes if evidence.batch_bytes else None
        return data.event.max_queue_size, held, "the loader's queue (max_queue_size)", data.source
    return None, None, "", ""
