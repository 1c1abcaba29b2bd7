"""A generator was read by several threads at once."""

from holdfast.explain.readings.error import ErrorText
from holdfast.explain.rule import Evidence, Finding, Remedy, Strength, Title, cause

_EXECUTING = ErrorText(r"generator already executing")


@cause("generator-not-thread-safe", specialises=("script-error",))
def generator_not_thread_safe(evidence: Evidence) -> Finding | None:
    quote, data = _EXECUTING.match(evidence), evidence.data()
    if quote is None:
        return None
    facts = [*quote.facts]
    if data is not None and data.event.workers:
        facts.append(data.fact("data.workers", workers=data.event.workers))
    remedies = [Remedy("generator.make-a-dataset"), Remedy("worker.use-one")]
    return Finding(Strength.ESTABLISHED, Title("generator-not-thread-safe"), facts, remedies)
