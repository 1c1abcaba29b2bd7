"""Each step changes the weights by next to nothing."""

from holdfast.explain.causes.weights import thresholds
from holdfast.explain.doubted_setting import by_setting
from holdfast.explain.readings.weights import fresh, highest_rate, moved, not_learned, update_ratio
from holdfast.explain.rule import Evidence, Finding, Remedy, Strength, Title, cause, ev, facts


@cause("learning-rate-too-low", specialises=("loss-not-falling",))
def learning_rate_too_low(evidence: Evidence) -> Finding | None:
    rules = ("weights-cannot-move", "warmup-never-ends")
    return (
        _clipped_while_scaled(evidence)
        or by_setting(evidence, "learning-rate-too-low.setting", *rules)
        or _by_weights(evidence)
    )


def _by_weights(evidence: Evidence) -> Finding | None:
    """They have hardly moved in the whole training."""
    course, rate = not_learned(evidence), highest_rate(evidence)
    whole, single = moved(evidence, "start"), moved(evidence, "step")
    if course is None or not whole or not fresh(evidence) or course.steps < thresholds.FEWEST_STEPS:
        return None
    optimizer = evidence.seen(ev.ModelSeen).optimizer
    usual = thresholds.LOW_RATES.get(optimizer.lower(), thresholds.LOW_RATE)
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
    better = {"adadelta": 1.0, "sgd": 0.01, "adagrad": 0.01}.get(optimizer.lower(), 1e-3)
    return Finding(
        Strength.SUPPORTED if course.learned is False else Strength.POSSIBLE,
        Title("learning-rate-too-low" if rate is not None else "learning-rate-too-low.by-steps", values),
        facts(whole[-1].fact("weights.hardly-moved", **values), course.fact, course.accuracy_fact),
        [Remedy("learning-rate.raise", {"optimizer": optimizer or "Adam", "learning_rate": better})],
        led_to="loss-not-falling",
        ends=False,
    )


def _clipped_while_scaled(evidence: Evidence) -> Finding | None:
    """Gradients that torch's GradScaler has multiplied are clipped, and divided by its scale afterwards."""
    seen, course = evidence.last(ev.ScalerSeen), not_learned(evidence)
    if seen is None or course is None or course.steps < thresholds.FEWEST_STEPS:
        return None
    event, norms = seen.event, seen.event.norms
    if (
        event.unscaled
        or len(norms) < thresholds.FEWEST_NORMS
        or (event.scale or 0.0) < thresholds.LARGE_SCALE
    ):
        return None
    if max(norms) > thresholds.SAME_NORM * min(norms) or course.fell > thresholds.IMPERCEPTIBLE:
        return None
    values = {
        "norm": norms[-1],
        "scale": event.scale,
        "where": event.where,
        "left": norms[-1] / (event.scale or 1.0),
    }
    return Finding(
        Strength.SUPPORTED,
        Title("learning-rate-too-low.clipped-while-scaled", values),
        facts(seen.fact("scaler.clipped", **values, looks=len(norms)), course.fact, course.accuracy_fact),
        [Remedy("gradients.unscale-before-clipping")],
        led_to="loss-not-falling",
        ends=False,
    )
