"""`fit` copied whole arrays into tensors."""

from __future__ import annotations

from holdfast.explain.causes.declare import Group, cause
from holdfast.explain.evidence import Evidence
from holdfast.explain.readings.growth import GrowthShape
from holdfast.explain.readings.memory import MemoryEnd, memory_end
from holdfast.explain.unconverted import Fact, Finding, Remedy, Strength, at_the_end, grew
from holdfast.explain.words import size


@cause("array-copied", Group.MEMORY)
def array_copied(evidence: Evidence) -> Finding | None:
    data, ended, grown = evidence.data(), memory_end(evidence), evidence.growth
    if data is None or ended is MemoryEnd.NO or not data.event.array_bytes:
        return None
    held = data.event.array_bytes
    limit = evidence.memory_limit[0] if evidence.memory_limit else None
    early = (
        grown.when
        in (
            GrowthShape.BEFORE_FIRST_STEP,
            GrowthShape.AT_FIT_ENTRY,
            GrowthShape.BEFORE_FIT,
            GrowthShape.ONE_JUMP,
        )
        or not evidence.step
    )
    if not early or (limit and held < 0.15 * limit):
        return None
    where = f" ({data.event.where})" if data.event.where else ""
    facts = [
        Fact(
            f"fit{where} was given arrays of {size(held)}; they are copied into tensors when it begins",
            data.source,
        )
    ]
    if grown.when != GrowthShape.NONE:
        facts.append(grew(evidence))
    facts += at_the_end(evidence)
    certain = bool(limit and 2 * held > 0.7 * limit)
    return Finding(
        "array-copied",
        Strength.ESTABLISHED if certain and evidence.step == 0 else Strength.SUPPORTED,
        f"fit copied arrays of {size(held)}, and the copy did not fit",
        tuple(facts),
        (),
        (
            Remedy(
                "feed from files or in pieces: a tf.data.Dataset, a PyDataset or a memory map",
                "your-choice",
                "class Pieces(keras.utils.PyDataset):\n    def __len__(self): return len(x) // 32\n"
                "    def __getitem__(self, i): return x[32*i:32*i+32], y[32*i:32*i+32]",
            ),
            Remedy(
                "keep the arrays in a smaller type, such as uint8, and convert in the model", "your-choice"
            ),
        ),
        led_to=ended.cause,
    )
