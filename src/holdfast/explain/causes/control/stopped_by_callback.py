"""A callback, or the script, set stop_training."""

from holdfast.explain.readings.fits import stop_request
from holdfast.explain.readings.numbers import number_of
from holdfast.explain.rule import Evidence, Finding, Remedy, Strength, Title, cause, facts


@cause("stopped-by-callback")
def stopped_by_callback(evidence: Evidence) -> Finding | None:
    asked = stop_request(evidence, lambda by, settings: True)
    if asked is None or evidence.went_wrong or evidence.stall is not None:
        return None
    event = asked.event
    epoch = event.epoch + 1 if event.epoch is not None else None
    by = event.by if event.by != "script" else ""
    values = {"by": by, "epoch": epoch, "step": event.step, "where": event.where}
    logs = {name: number_of(value) for name, value in event.logs.items()}
    return Finding(
        Strength.ESTABLISHED,
        Title("stopped-by-callback", values),
        facts(asked.fact("stop.set-on-model", **values), bool(logs) and asked.fact("logs.then", logs=logs)),
        [Remedy("condition.read", values)],
    )
