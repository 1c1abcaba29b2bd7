"""`fit` copied whole arrays into tensors."""

from holdfast.explain.causes.memory.ran_out import ran_out
from holdfast.explain.readings.growth import WHILE_FILLING, GrowthShape
from holdfast.explain.readings.memory import MemoryEnd, growth_seen, memory_end, share_of_limit
from holdfast.explain.rule import Evidence, Finding, Remedy, Strength, Title, cause

_AT_THE_START = (*WHILE_FILLING, GrowthShape.BEFORE_FIT, GrowthShape.ONE_JUMP)
#: Share of the limit below which a copy of the arrays is not what memory ran out for. Chosen.
_LITTLE = 0.15
#: Share of the limit above which the arrays and their copy together fill memory: the framework and the model take
#: the rest. Chosen.
_FILLS = 0.7


@cause("array-copied")
def array_copied(evidence: Evidence) -> Finding | None:
    data = evidence.data()
    if data is None or not data.event.array_bytes or memory_end(evidence) is MemoryEnd.NO:
        return None
    arrays = data.event.array_bytes
    share = share_of_limit(evidence, arrays)
    at_the_start = evidence.growth.when in _AT_THE_START or not evidence.step
    if not at_the_start or (share is not None and share < _LITTLE):
        return None
    facts = [data.fact("fit.given-arrays", bytes=arrays, where=data.event.where), *growth_seen(evidence)]
    strength = Strength.established_if(share is not None and 2 * share > _FILLS and evidence.step == 0)
    remedies = [Remedy("array.feed-in-parts"), Remedy("array.use-uint8")]
    return ran_out(evidence, strength, Title("array-copied", {"bytes": arrays}), facts, remedies)
