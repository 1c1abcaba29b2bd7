"""The penalty on the weights outweighs the loss."""

from holdfast.explain.causes.weights.thresholds import AS_GOOD_AS_CONSTANT, PENALTY_SHARE, SHRUNK_TO
from holdfast.explain.doubted_setting import by_setting
from holdfast.explain.readings.course import CROSS_ENTROPIES, Course, constant_loss, course, output
from holdfast.explain.readings.numbers import median
from holdfast.explain.readings.weights import (
    constant_answers,
    is_kernel,
    layers,
    looked_at,
    moved,
    not_learned,
    pressed_to_nothing,
)
from holdfast.explain.rule import Evidence, Fact, Finding, Remedy, Strength, Title, cause, facts


@cause("regularisation-too-strong", specialises=("loss-not-falling", "too-few-updates"))
def regularisation_too_strong(evidence: Evidence) -> Finding | None:
    by_model = _by_model(evidence)
    return by_model or by_setting(evidence, "regularisation-too-strong.setting", "decay-too-strong")


def _by_model(evidence: Evidence) -> Finding | None:
    look, training = looked_at(evidence), not_learned(evidence)
    if training is None:
        return _beside_the_loss(evidence)
    if look is None or look.event.penalty is None or not look.event.loss:
        return _by_weights(evidence, training) or _pressed_to_nothing(evidence, training)
    share = look.event.penalty / abs(look.event.loss)
    shrunk = _shrunk(evidence)
    same = constant_answers(evidence)
    outweighs = share > PENALTY_SHARE
    collapsed = shrunk is not None and shrunk < SHRUNK_TO and same is not None
    if not outweighs and not collapsed:
        return None
    values = {"penalty": look.event.penalty, "loss": look.event.loss, "share": share, "shrunk": shrunk}
    sure = collapsed or (training.learned is False and same is not None)
    return Finding(
        Strength.SUPPORTED if sure else Strength.POSSIBLE,
        Title("regularisation-too-strong.collapsed" if collapsed else "regularisation-too-strong", values),
        facts(
            look.fact("loss.penalty", **values),
            collapsed and moved(evidence, "start")[-1].fact("weights.shrunk", **values),
            same is not None
            and same.fact("predictions.the-same", rows=same.event.rows, value=same.event.mean),
            training.fact,
        ),
        [Remedy("regulariser.weaken")],
        led_to="loss-not-falling",
        ends=False,
    )


def _by_weights(evidence: Evidence, training: Course) -> Finding | None:
    """Without a look at the model: kernels with a penalty have shrunk to nothing."""
    shrunk, penalised = _shrunk(evidence), [one for one in layers(evidence) if one.get("penalty")]
    if shrunk is None or shrunk >= SHRUNK_TO or not penalised or training.learned is None:
        return None
    first = penalised[0]
    values = {
        "shrunk": shrunk,
        "penalty": first["penalty"],
        "layer": first.get("name"),
        "where": first.get("where"),
    }
    return Finding(
        Strength.SUPPORTED,
        Title("regularisation-too-strong.collapsed", values),
        facts(
            moved(evidence, "start")[-1].fact("weights.shrunk", **values),
            Fact("layer.penalised", values, training.source),
            training.fact,
        ),
        [Remedy("regulariser.weaken")],
        led_to="loss-not-falling",
        ends=False,
    )


def _pressed_to_nothing(evidence: Evidence, training: Course) -> Finding | None:
    """No gradient of a loss makes every kernel vanish, step after step: a decay in the optimizer does, or a penalty
    that the loop adds itself."""
    left = pressed_to_nothing(evidence)
    if left is None or training.learned is not False:
        return None
    seen = moved(evidence, "start")
    values = {"shrunk": left, "steps": seen[-1].event.step}
    return Finding(
        Strength.SUPPORTED,
        Title("regularisation-too-strong.decayed", values),
        facts(seen[-1].fact("weights.shrunk", **values), training.fact, training.accuracy_fact),
        [Remedy("optimizer.weaken-decay")],
        led_to="loss-not-falling",
        ends=False,
    )


def _beside_the_loss(evidence: Evidence) -> Finding | None:
    """A term that the loop adds to its loss, such as a log prior that is not divided by the rows: the sum falls by that
    term, every kernel vanishes, and the loss itself ends where a constant answer is."""
    left, training = pressed_to_nothing(evidence), course(evidence)
    seen, constant = output(evidence), constant_loss(evidence, of_part=True)
    if left is None or training is None or seen is None or not seen.event.part or constant is None:
        return None
    if seen.event.loss not in CROSS_ENTROPIES or training.last < AS_GOOD_AS_CONSTANT * constant:
        return None  # of other losses the scale of the term is not known
    weights = moved(evidence, "start")[-1]
    values = {"shrunk": left, "steps": weights.event.step}
    ends = {"last": training.last, "constant": constant, "where": seen.event.loss_where}
    return Finding(
        Strength.SUPPORTED,
        Title("regularisation-too-strong.beside-loss", {**values, **ends}),
        (weights.fact("weights.shrunk", **values), seen.fact("loss.ends-at-constant-of-term", **ends)),
        [Remedy("penalty.divide-by-rows")],
        led_to="loss-not-falling",
        ends=False,
    )


def _shrunk(evidence: Evidence) -> float | None:
    """Size of kernels at the end against their size at the start: the middle one."""
    seen = moved(evidence, "start")
    kernels = [one for one in seen[-1].event.variables if is_kernel(one)] if seen else []
    sizes = [one["rms"] / one["rms_before"] for one in kernels if one.get("rms_before")]
    return median(sizes) if sizes else None
