"""`ignore_errors` drops damaged data, and good data with it."""

from holdfast.explain.readings.fits import steps_short
from holdfast.explain.rule import Evidence, Fact, Finding, Remedy, Strength, Title, cause, ev, facts

_LOGGED = r"(truncated|corrupted) record at|Error raised with error message"


@cause("data-silently-dropped", specialises=("dataset-exhausted",))
def data_silently_dropped(evidence: Evidence) -> Finding | None:
    ignoring = _ignores_errors(evidence)
    if ignoring is None or evidence.exit_code not in (0, None) or not (evidence.fit or evidence.step):
        return None
    dropped, logged, short = _dropped(evidence), evidence.output.last(_LOGGED), steps_short(evidence)
    seen = facts(dropped, logged and logged.fact, short and short.fact)
    if not seen:
        return None
    return Finding(
        Strength.established_if(dropped is not None),
        Title("data-silently-dropped"),
        (ignoring, *seen),
        (Remedy("data.repair", safety="automatic"), Remedy("pipeline.log-errors")),
        ends=False,
    )


def _ignores_errors(evidence: Evidence) -> Fact | None:
    for node in evidence.nodes:
        if node.op == "ignoreerrors" or "ignore_errors" in str(node.settings.get("op", "")).lower():
            return Fact("pipeline.ignores-errors", {"where": node.where}, node.source)
    return None


def _dropped(evidence: Evidence) -> Fact | None:
    seen = evidence.last(ev.DataDropped)
    if seen is None:
        return None
    event = seen.event
    return seen.fact("data.dropped", count=event.count, unit=event.unit, lost_by_file=event.lost_by_file)
