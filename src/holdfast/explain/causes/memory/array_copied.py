"""`fit` copied whole arrays into tensors."""

from __future__ import annotations

from holdfast.explain.readings.growth import WHILE_FILLING, GrowthShape
from holdfast.explain.readings.memory import MemoryEnd, at_the_end, grew, memory_end, share_of_limit
from holdfast.explain.rule import Evidence, Fact, Finding, Remedy, Strength, Title, cause

_AT_THE_START = (*WHILE_FILLING, GrowthShape.BEFORE_FIT, GrowthShape.ONE_JUMP)
#: Share of the limit below which a copy of the arrays is not what memory ran out for. Chosen.
_LITTLE = 0.15
#: Share of the limit above which the arrays and their copy together fill memory: the framework and the model take
#: the rest. Chosen.
_FILLS = 0.7


@cause("array-copied")
def array_copied(evidence: Evidence) -> Finding | None:
    data, ended, growth = evidence.data(), memory_end(evidence), evidence.growth
    if data is None or ended is MemoryEnd.NO or not data.event.array_bytes:
        return None
    arrays = data.event.array_bytes
    share = share_of_limit(evidence, arrays)
    at_the_start = growth.when in _AT_THE_START or not evidence.step
    if not at_the_start or (share is not None and share < _LITTLE):
        return None
    facts = [Fact("fit.given-arrays", {"bytes": arrays, "where": data.event.where}, data.source)]
    facts += [grew(evidence)] if growth.when != GrowthShape.NONE else []
    certain = share is not None and 2 * share > _FILLS and evidence.step == 0
    return Finding(
        Strength.ESTABLISHED if certain else Strength.SUPPORTED,
        Title("array-copied", {"bytes": arrays}),
        because=[*facts, *at_the_end(evidence)],
        remedies=[Remedy("array.feed-in-parts"), Remedy("array.use-uint8")],
        led_to=ended.cause,
    )
