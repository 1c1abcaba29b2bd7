"""What the reasons for memory that ran out have in common."""

from collections.abc import Sequence

from holdfast.explain.causes.memory.thresholds import EXPLAINS_GROWTH
from holdfast.explain.readings.memory import Kept, at_the_end, memory_end, share_of_limit
from holdfast.explain.rule import Evidence, Fact, Finding, Remedy, Strength, Title, ev

#: Share of the memory limit above which one buffer, full, explains by itself that memory ran out: the framework, the
#: model and the other buffers take the rest. Chosen: it separates the test programs.
_MOST_OF_LIMIT = 0.5


def takes_most(evidence: Evidence, held_bytes: int | None) -> bool:
    """So much explains by itself that memory ran out."""
    return (share_of_limit(evidence, held_bytes) or 0) > _MOST_OF_LIMIT


def explains_growth(evidence: Evidence, kept: Kept | None) -> bool:
    """So much of what memory rose by was in it, if it grew on as it did until it was last measured."""
    if kept is None:
        return False
    measured = evidence.seen(ev.HoldingsSeen).step
    steps_since = max(1.0, (evidence.step or 0) / measured) if measured else 1.0
    return kept.bytes * steps_since > EXPLAINS_GROWTH * max(1, evidence.growth.total.bytes)


def ran_out(
    evidence: Evidence,
    strength: Strength,
    title: Title,
    because: Sequence[Fact],
    remedies: Sequence[Remedy],
    *,
    against: Sequence[Fact] = (),
) -> Finding:
    """A reason why memory ran out: it led to the kill or to the refusal that ended the run."""
    facts = [*because, *at_the_end(evidence)]
    return Finding(strength, title, facts, remedies, against=against, led_to=memory_end(evidence).cause)
