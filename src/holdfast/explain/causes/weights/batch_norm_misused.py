"""Batch normalisation sees too few rows at a time, or its moving averages do not fit what it learned with."""

from holdfast.explain.causes.weights import thresholds
from holdfast.explain.readings.course import Course, course
from holdfast.explain.readings.numbers import median, number_of
from holdfast.explain.readings.weights import NORMALISING, WEIGHTED, layers, looked_at
from holdfast.explain.rule import Evidence, Fact, Finding, Remedy, Strength, Title, cause, ev, facts
from holdfast.journal.events.event import Json


@cause("batch-norm-misused", specialises=("loss-not-falling",))
def batch_norm_misused(evidence: Evidence) -> Finding | None:
    kinds, training = evidence.seen(ev.ModelSeen).layer_kinds, course(evidence)
    if (thrown_away := _thrown_away(evidence, training)) is not None:
        return thrown_away
    if training is None:
        return None
    if not any(kind in kinds for kind in NORMALISING):
        return _lags(evidence, training)
    by_look = _tiny_batches(evidence, training, kinds) or _other_in_inference(evidence, training)
    return by_look or _lags(evidence, training)


def _thrown_away(evidence: Evidence, training: Course | None) -> Finding | None:
    """A step of JAX gives new averages back, the loop drops them, and what evaluates reads those of the beginning."""
    seen = evidence.last(ev.AveragesUnmoved)
    if seen is None or seen.event.step < thresholds.UPDATES_MEANT or evidence.error is not None:
        return None
    event = seen.event
    values = {"steps": event.step, "names": event.names, "where": event.where, "evaluated": event.evaluated}
    return Finding(
        Strength.SUPPORTED,
        Title("batch-norm-misused.thrown-away", values),
        facts(seen.fact("norm.averages-unmoved", **values), training and training.fact),
        (Remedy("norm.keep-new-averages"),),
        ends=False,
    )


def _tiny_batches(evidence: Evidence, training: Course, kinds: dict[str, int]) -> Finding | None:
    """Of one row, a dense layer's mean is the row itself. A convolution averages over its positions too."""
    fit = evidence.fit
    rows = fit.start.batch_size if fit is not None else None
    if rows is None or rows > thresholds.SMALL_BATCH or training.learned is True:
        return None
    if not _behind_dense(evidence, kinds):
        return None
    started = fit.started if fit is not None else None
    values = {"rows": rows}
    sure = rows == 1 and training.learned is False
    return Finding(
        Strength.SUPPORTED if sure else Strength.POSSIBLE,
        Title("batch-norm-misused.tiny", values),
        facts(
            started is not None and started.fact("batch.rows", **values),
            training.fact,
            training.accuracy_fact,
        ),
        (Remedy("batch.enlarge"), Remedy("norm.use-layer-norm")),
        led_to="loss-not-falling",
        ends=False,
    )


def _behind_dense(evidence: Evidence, kinds: dict[str, int]) -> bool:
    """Whether one normalises what a dense layer gives; where the order is not known, whether no layer convolves."""
    before = ""
    for one in layers(evidence):
        if one.get("kind") in NORMALISING and before == "Dense":
            return True
        before = str(one["kind"]) if one.get("kind") in WEIGHTED else before
    return not before and not any(kind in kinds for kind in WEIGHTED if "Conv" in kind)


def _other_in_inference(evidence: Evidence, training: Course) -> Finding | None:
    look = looked_at(evidence)
    if look is None or look.event.loss is None or look.event.loss_inference is None:
        return None
    trained, predicts = look.event.loss, look.event.loss_inference
    constant = training.constant if training.constant is not None else training.first
    if predicts < thresholds.WORSE_IN_INFERENCE * abs(trained):
        return None
    if predicts < thresholds.AS_GOOD_AS_CONSTANT * constant:
        return None
    values = {"loss": trained, "predicts": predicts, "rows": look.event.rows, "steps": look.event.step}
    meant = training.epochs >= thresholds.EPOCHS_MEANT
    return Finding(
        Strength.SUPPORTED if meant else Strength.POSSIBLE,
        Title("batch-norm-misused", values),
        facts(look.fact("loss.by-mode", **values), Fact("norm.lags", values, look.source), training.fact),
        (Remedy("norm.lower-momentum"), Remedy("batch.enlarge")),
        ends=False,
    )


def _lags(evidence: Evidence, training: Course) -> Finding | None:
    """Most of each average is still what it began with, far from the batches that the network learned from."""
    number = evidence.fit.number if evidence.fit is not None else None
    seen = [one for one in evidence.all(ev.NormalisationSeen) if one.event.fit == number]
    if not seen or training.learned is not True or _validates_well(evidence, training):
        return None
    event = seen[-1].event
    at_chance = _at_chance(evidence, training)
    far = [one for one in event.layers if _is_far(one, at_chance=at_chance)]
    if event.step < thresholds.UPDATES_MEANT or 2 * len(far) < len(event.layers) or not far:
        return None
    values = {
        "steps": event.step, "layers": len(event.layers), "far": len(far),
        "left": median([one["left"] for one in far]), "times": median([one["times"] for one in far]),
        "mean_off": median([one["mean_off"] for one in far]), "momentum": far[0].get("momentum"),
    }  # fmt: skip
    return Finding(
        Strength.supported_if(_predicts(evidence, event)),
        Title("batch-norm-misused.lags", values),
        facts(seen[-1].fact("norm.far-from-batches", **values), _validation(evidence), training.fact),
        (Remedy("norm.lower-momentum"), Remedy("batch.enlarge"))
        if number is not None
        else (Remedy("norm.lower-momentum"),),
        ends=False,
    )


def _is_far(layer: Json, *, at_chance: bool) -> bool:
    off, times = number_of(layer.get("mean_off")) or 0.0, number_of(layer.get("times")) or 0.0
    left = number_of(layer.get("left")) or 0.0
    if at_chance and left >= thresholds.NEARLY_ALL_OF_FIRST:
        return off >= thresholds.MEAN_OFF_AT_CHANCE or times >= thresholds.VARIANCE_OFF_AT_CHANCE
    return left >= thresholds.LEFT_OF_FIRST and (
        off >= thresholds.MEAN_OFF or times >= thresholds.VARIANCE_OFF
    )


def _predicts(evidence: Evidence, event: ev.NormalisationSeen) -> bool:
    """The averages are used: something was validated or predicted, or the model was saved to be used. A generator may
    use the statistics of batches alone."""
    if event.evaluated or evidence.all(ev.SaveDone):
        return True
    validated = any(one.event.role == "validation" for one in evidence.all(ev.DatasetSeen))
    return validated or bool(evidence.all(ev.PredictDone)) or _validation(evidence) is not None


def _validates_well(evidence: Evidence, training: Course) -> bool:
    seen = _validation(evidence)
    return seen is not None and seen.values["validated"] < thresholds.WORSE_IN_INFERENCE * abs(training.last)


def _at_chance(evidence: Evidence, training: Course) -> bool:
    """It learned, and validates about as badly as the best constant answer."""
    seen, constant = _validation(evidence), training.constant
    if seen is None or constant is None:
        return False
    return bool(seen.values["validated"] >= thresholds.VALIDATES_LIKE_CONSTANT * constant)


def _validation(evidence: Evidence) -> Fact | None:
    """The loss of the newest validation of the last fit."""
    epochs = evidence.fit.epochs if evidence.fit is not None else ()
    for one in reversed(epochs):
        loss, validated = (number_of(one.event.logs.get(name)) for name in ("loss", "val_loss"))
        if loss is not None and validated is not None:
            return one.fact("loss.validated", loss=loss, validated=validated, epoch=one.event.epoch + 1)
    return None
