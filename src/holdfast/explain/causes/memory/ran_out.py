"""What the reasons for memory that ran out have in common."""

from collections.abc import Sequence

from holdfast.explain.readings.memory import at_the_end, memory_end, share_of_limit
from holdfast.explain.rule import Evidence, Fact, Finding, Remedy, Strength, Title

#: Share of the memory limit above which one buffer, full, explains by itself that memory ran out: the framework, the
#: model and the other buffers take the rest. Chosen: it separates the test programs.
_MOST_OF_LIMIT = 0.5


def takes_most(evidence: Evidence, held_bytes: int | None) -> bool:
    """So much explains by itself that memory ran out."""
    return (share_of_limit(evidence, held_bytes) or 0) > _MOST_OF_LIMIT


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
