"""`ignore_errors` drops damaged data, and good data with it."""

from __future__ import annotations

from holdfast.explain.readings.fits import steps_short
from holdfast.explain.readings.output import clipped
from holdfast.explain.rule import Evidence, Fact, Finding, Remedy, Strength, Title, cause, ev

_LOGGED = r"(truncated|corrupted) record at|Error raised with error message"


@cause("data-silently-dropped", specialises=("dataset-exhausted",))
def data_silently_dropped(evidence: Evidence) -> Finding | None:
    ignoring = _ignores_errors(evidence)
    if ignoring is None or evidence.exit_code not in (0, None) or not (evidence.fit or evidence.step):
        return None
    dropped, logged, short = _dropped(evidence), evidence.output.last(_LOGGED), steps_short(evidence)
    facts = [*dropped]
    if logged is not None:
        facts.append(Fact("error.quoted", {"text": clipped(logged.text)}, logged.source))
    if short is not None:
        facts.append(short.fit.by_epoch(short.planned))
    if not facts:
        return None
    return Finding(
        Strength.ESTABLISHED if dropped else Strength.SUPPORTED,
        Title("data-silently-dropped"),
        because=[ignoring, *facts],
        remedies=[Remedy("data.repair", safety="automatic"), Remedy("pipeline.log-errors")],
        ends=False,
    )


def _ignores_errors(evidence: Evidence) -> Fact | None:
    for node in evidence.nodes:
        if node.op == "ignoreerrors" or "ignore_errors" in str(node.settings.get("op", "")).lower():
            return Fact("pipeline.ignores-errors", {"where": node.where}, node.source)
    return None


def _dropped(evidence: Evidence) -> list[Fact]:
    return [
        Fact(
            "data.dropped",
            {
                "count": seen.event.count,
                "unit": seen.event.unit,
                "lost_by_file": dict(seen.event.lost_by_file),
            },
            seen.source,
        )
        for seen in evidence.all(ev.DataDropped)[-1:]
    ]
