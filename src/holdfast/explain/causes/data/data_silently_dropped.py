"""Errors are ignored, and with them good data."""

from __future__ import annotations

from holdfast.explain.causes.declare import Group, cause
from holdfast.explain.evidence import Evidence
from holdfast.explain.readings.fits import steps_short
from holdfast.explain.unconverted import Fact, Finding, Remedy, Strength
from holdfast.explain.words import clipped, listed
from holdfast.journal import events as ev

_FILES_NAMED = 4


@cause("data-silently-dropped", Group.DATA, specialises=("dataset-exhausted",))
def data_silently_dropped(evidence: Evidence) -> Finding | None:
    ignoring = [
        node
        for node in evidence.nodes
        if node.op == "ignoreerrors" or "ignore_errors" in str(node.settings.get("op", "")).lower()
    ]
    if not ignoring or evidence.exit_code not in (0, None):
        return None
    dropped, source = _dropped(evidence)
    logged = evidence.output.last(r"(truncated|corrupted) record at|Error raised with error message")
    fit = evidence.fit
    short = steps_short(evidence)
    where = f" ({ignoring[0].where})" if ignoring[0].where else ""
    facts = [
        Fact(
            f"ignore_errors{where} passes over every element that raises, without a word", ignoring[0].source
        )
    ]
    strength = None
    if dropped:
        facts.append(Fact(dropped, source))
        strength = Strength.ESTABLISHED
    if logged is not None:
        facts.append(Fact(clipped(logged.text, 140), logged.source))
        strength = strength or Strength.SUPPORTED
    if short is not None:
        facts.append(
            Fact(
                f"steps by epoch: {listed([str(n) for n in short[2]], 8)}; planned {short[1]}",
                short[0].done.source if short[0].done else "journal.jsonl",
            )
        )
        strength = strength or Strength.SUPPORTED
    if strength is None or (fit is None and not evidence.step):
        return None
    return Finding(
        "data-silently-dropped",
        strength,
        "damaged data is passed over in silence, and good data after it is lost too",
        tuple(facts),
        (),
        (
            Remedy(
                "find and mend the damaged files instead of ignoring errors: `holdfast check DATA`",
                "automatic",
            ),
            Remedy("say how much is dropped", "your-choice", "ds = ds.ignore_errors(log_warning=True)"),
        ),
        ends=False,
    )


def _dropped(evidence: Evidence) -> tuple[str, str]:
    """How many elements and of which files, in words, and where that stands."""
    for said in reversed(evidence.all(ev.DataDropped)):
        one = said.event
        what = (
            "records are damaged or stand behind a damaged one"
            if one.unit == "records"
            else "pictures cannot be decoded"
        )
        named = [
            f"{path} ({lost})" if lost else path
            for path, lost in list(one.lost_by_file.items())[:_FILES_NAMED]
        ]
        return f"{one.count} {what}, and are passed over: {', '.join(named)}", said.source
    return "", ""
