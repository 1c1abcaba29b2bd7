"""What a framework itself warned of and that speaks against what was learnt, though training ran to its end."""

from __future__ import annotations

from holdfast.explain.evidence import Evidence
from holdfast.explain.finding import Fact
from holdfast.journal import events as ev
from holdfast.printed.warning_lines import AGAINST_RESULT

_MOST = 3


def warned(evidence: Evidence) -> tuple[Fact, ...]:
    """Each once, with the line that brought it about. A run that neither trained nor drew data has no result."""
    if (
        not evidence.step
        and evidence.data() is None
        and not evidence.fits
        and not evidence.all(ev.PredictDone)
    ):
        return ()
    found: dict[str, Fact] = {}
    for said in evidence.all(ev.WarningSeen):
        match = AGAINST_RESULT.search(said.event.text)
        if match is not None and match[0].lower() not in found:
            values = {"text": said.event.text, "where": said.event.where}
            found[match[0].lower()] = Fact("framework.warned", values, said.source)
    return tuple(found.values())[:_MOST]
