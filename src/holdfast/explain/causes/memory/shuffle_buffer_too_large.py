"""The shuffle buffer holds more than memory allows."""

from __future__ import annotations

from holdfast.explain.causes.declare import Group, cause
from holdfast.explain.evidence import Evidence
from holdfast.explain.readings.growth import GrowthShape
from holdfast.explain.readings.memory import MemoryEnd, memory_end
from holdfast.explain.unconverted import Fact, Finding, Remedy, RuledOut, Strength, at_the_end, grew
from holdfast.explain.words import clipped, size, whole
from holdfast.journal.beats import Phase


@cause("shuffle-buffer-too-large", Group.MEMORY, specialises=("memory-leak",))
def shuffle_buffer_too_large(evidence: Evidence) -> Finding | RuledOut | None:
    ended = memory_end(evidence)
    nodes = [node for node in evidence.nodes if node.op == "shuffle"]
    logged = evidence.output.last(r"[Ff]illing up shuffle buffer.*?(\d+) of (\d+)", advice=True)
    if ended is MemoryEnd.NO or not (nodes or logged):
        return None
    filling = evidence.growth.when in (GrowthShape.BEFORE_FIRST_STEP, GrowthShape.AT_FIT_ENTRY) or (
        evidence.phase in (Phase.FILL, Phase.COMPILE, Phase.DATA_WAIT) and not evidence.step
    )
    if not filling:
        return RuledOut(
            "shuffle-buffer-too-large",
            "memory did not rise while the buffer was being filled, before the first step",
            evidence.growth.rise.source if evidence.growth.rise.last_line else "beats",
        )
    node = max(nodes, key=lambda one: one.holds_bytes() or one.buffer_size or 0) if nodes else None
    facts, strength = [], Strength.SUPPORTED
    if evidence.growth.when != GrowthShape.NONE:
        facts.append(grew(evidence))
    held = node.holds_bytes() if node is not None else None
    if node is not None:
        place = f" ({node.where})" if node.where else ""
        each = f" elements of {size(node.element_bytes)}" if node.element_bytes else " elements"
        full = f", {size(held)} when full" if held else ""
        facts.append(Fact(f"shuffle{place} keeps {whole(node.buffer_size or 0)}{each}{full}", node.source))
    if logged is not None:
        facts.append(Fact(clipped(logged.text, 100), logged.source))
    if not evidence.step:
        facts.append(Fact("no training step was done: the buffer is filled before the first one", "beats"))
    facts += at_the_end(evidence)
    limit = evidence.memory_limit[0] if evidence.memory_limit else None
    rivals = [other for other in evidence.nodes if other.op == "cache"]
    if (
        held
        and limit
        and held > 0.5 * limit
        and not rivals
        and evidence.growth.when == GrowthShape.BEFORE_FIRST_STEP
    ):
        strength = Strength.ESTABLISHED
    against: tuple[Fact, ...] = ()
    if held and evidence.growth.rise.bytes and held < 0.3 * evidence.growth.rise.bytes:
        strength = Strength.POSSIBLE
        against = (
            Fact(f"full, it holds {size(held)}, less than what memory rose by", node.source if node else ""),
        )
    return Finding(
        "shuffle-buffer-too-large",
        strength,
        _title(node.buffer_size if node else None, held),
        tuple(facts),
        against,
        (
            Remedy(
                "shuffle file names or encoded bytes before decoding; the order is as random and costs next to nothing",
                "your-choice",
                "ds = tf.data.Dataset.from_tensor_slices(files).shuffle(len(files)).map(decode)",
            ),
            Remedy(
                "a smaller buffer where decoded images must be shuffled",
                "your-choice",
                "ds = ds.shuffle(256)",
            ),
        ),
        led_to=ended.cause,
    )


def _title(buffer_size: int | None, held: int | None) -> str:
    count = f" of {whole(buffer_size)} elements" if buffer_size else ""
    full = f" needs {size(held)} and does not fit" if held else " does not fit into memory"
    return f"the shuffle buffer{count}{full}"
