"""A callback, or the script, set stop_training."""

from __future__ import annotations

from holdfast.explain.causes.declare import Group, cause
from holdfast.explain.evidence import Evidence
from holdfast.explain.readings.fits import stop_request
from holdfast.explain.readings.numbers import number_of
from holdfast.explain.unconverted import Fact, Finding, Remedy, Strength
from holdfast.explain.words import listed, number


@cause("stopped-by-callback", Group.CONTROL)
def stopped_by_callback(evidence: Evidence) -> Finding | None:
    asked = stop_request(evidence, lambda by, settings: True)
    if asked is None or evidence.went_wrong or evidence.stall is not None:
        return None
    event = asked.event
    at = f" at epoch {event.epoch + 1}" if event.epoch is not None else ""
    step = f", step {event.step:,}" if event.step is not None else ""
    where = f" ({event.where})" if event.where else ""
    facts = [
        Fact(f"{event.by or 'the script'} set model.stop_training = True{at}{step}{where}", asked.source)
    ]
    if event.logs:
        shown = listed([f"{name} {number(number_of(value))}" for name, value in event.logs.items()], 4)
        facts.append(Fact(f"the logs stood at {shown}", asked.source))
    who = event.by if event.by and event.by != "script" else "the script"
    return Finding(
        "stopped-by-callback",
        Strength.ESTABLISHED,
        f"{who} stopped the training{where}",
        tuple(facts),
        (),
        (Remedy(f"read the condition at {event.where}" if event.where else f"read {who}", "your-choice"),),
        ends=True,
    )
