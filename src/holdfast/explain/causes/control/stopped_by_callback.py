"""A callback, or the script, set stop_training."""

from __future__ import annotations

from holdfast.explain.readings.fits import stop_request
from holdfast.explain.readings.numbers import number_of
from holdfast.explain.rule import Evidence, Fact, Finding, Remedy, Strength, Title, cause


@cause("stopped-by-callback")
def stopped_by_callback(evidence: Evidence) -> Finding | None:
    asked = stop_request(evidence, lambda by, settings: True)
    if asked is None or evidence.went_wrong or evidence.stall is not None:
        return None
    event = asked.event
    by = event.by if event.by != "script" else ""
    epoch = event.epoch + 1 if event.epoch is not None else None
    values = {"by": by, "epoch": epoch, "step": event.step, "where": event.where}
    facts = [Fact("stop.set-on-model", values, asked.source)]
    if event.logs:
        logs = {name: number_of(value) for name, value in event.logs.items()}
        facts.append(Fact("logs.then", {"logs": logs}, asked.source))
    title, remedies = Title("stopped-by-callback", values), (Remedy("condition.read", values),)
    return Finding(Strength.ESTABLISHED, title, facts, remedies)
