"""A callback, or the script, set stop_training."""

from __future__ import annotations

from holdfast.explain.causes.declare import Group, cause
from holdfast.explain.evidence import Evidence
from holdfast.explain.finding import Fact, Finding, Remedy, Strength, Title
from holdfast.explain.readings.fits import stop_request
from holdfast.explain.readings.numbers import number_of


@cause("stopped-by-callback", Group.CONTROL)
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
    return Finding(Strength.ESTABLISHED, title, tuple(facts), (), remedies)
