"""A generator was read by several threads at once."""

from __future__ import annotations

from holdfast.explain.causes.declare import Group, cause
from holdfast.explain.evidence import Evidence
from holdfast.explain.finding import Fact, Finding, Remedy, Strength, Title
from holdfast.explain.readings.error import ErrorText, user_line

_EXECUTING = ErrorText(r"generator already executing")


@cause("generator-not-thread-safe", Group.PROCESSES, specialises=("script-error",))
def generator_not_thread_safe(evidence: Evidence) -> Finding | None:
    quote, data = _EXECUTING.match(evidence), evidence.data()
    if quote is None:
        return None
    facts = [quote.fact, *user_line(evidence)]
    if data is not None and data.event.workers:
        facts.append(Fact("data.workers", {"workers": data.event.workers}, data.source))
    return Finding(
        Strength.ESTABLISHED,
        Title("generator-not-thread-safe"),
        because=tuple(facts),
        remedies=(Remedy("generator.make-a-dataset"), Remedy("worker.use-one")),
    )
