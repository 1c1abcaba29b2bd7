"""Each step changes the weights by next to nothing."""

from holdfast.explain.causes.weights import thresholds
from holdfast.explain.readings.weights import fresh, highest_rate, moved, not_learned, update_ratio
from holdfast.explain.rule import Evidence, Finding, Remedy, Strength, Title, cause, ev, facts


@cause("learning-rate-too-low", specialises=("loss-not-falling",))
def learning_rate_too_low(evidence: Evidence) -> Finding | None:
    course, rate = not_learned(evidence), highest_rate(evidence)
    whole, single = moved(evidence, "start"), moved(evidence, "step")
    if course is None or not whole or not fresh(evidence) or course.steps < thresholds.FEWEST_STEPS:
        return None
    optimizer = evidence.seen(ev.ModelSeen).optimizer
    usual = thresholds.LOW_RATES.get(optimizer, thresholds.LOW_RATE)
    by_fit = update_ratio(whole[-1].event)
    by_step = [ratio for ratio in (update_ratio(one.event) for one in single) if ratio is not None]
    if rate is not None and not 0 < rate < usual:
        return None
    if rate is None and not (by_step and max(by_step) > 0):  # a loop whose rate is not seen: its steps are
        return None
    if by_fit is None or by_fit > thresholds.HARDLY_MOVED:
        return None
    if course.fell > thresholds.IMPERCEPTIBLE or (by_step and max(by_step) > thresholds.SMALL_STEP):
        return None
    values = {
        "learning_rate": rate,
        "optimizer": optimizer,
        "moved": by_fit,
        "step": max(by_step) if by_step else None,
        "steps": whole[-1].event.step,
    }
    better = {"Adadelta": 1.0, "SGD": 0.01, "Adagrad": 0.01}.get(optimizer, 1e-3)
    return Finding(
        Strength.SUPPORTED if course.learned is False else Strength.POSSIBLE,
        Title("learning-rate-too-low" if rate is not None else "learning-rate-too-low.by-steps", values),
        facts(whole[-1].fact("weights.hardly-moved", **values), course.fact, course.accuracy_fact),
        [Remedy("learning-rate.raise", {"optimizer": optimizer or "Adam", "learning_rate": better})],
        led_to="loss-not-falling",
        ends=False,
    )
