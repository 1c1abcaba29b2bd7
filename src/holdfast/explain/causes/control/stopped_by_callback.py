"""A callback, or the script, set stop_training."""

from holdfast.explain.readings.course import course
from holdfast.explain.readings.fits import stop_request
from holdfast.explain.readings.numbers import number_of
from holdfast.explain.rule import Evidence, Finding, Remedy, Strength, Title, cause, facts

#: A loss that fell by this share, and ended this near to its best: whoever stopped the training had reached something.
_FELL, _NEAR_BEST = 0.5, 1.1


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
        normal=_had_learned(evidence),
    )


def _had_learned(evidence: Evidence) -> bool:
    """A stop at a good result is what the user's own code was written for."""
    training = course(evidence)
    if training is None or training.learned is not True:
        return False
    return training.fell > _FELL and training.last <= _NEAR_BEST * training.best
