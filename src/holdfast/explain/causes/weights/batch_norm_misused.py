"""Batch normalisation sees too few rows at a time, or its moving averages do not fit what it learned with."""

from holdfast.explain.causes.weights import thresholds
from holdfast.explain.readings.course import Course, course
from holdfast.explain.readings.weights import NORMALISING, WEIGHTED, layers, looked_at
from holdfast.explain.rule import Evidence, Fact, Finding, Remedy, Strength, Title, cause, ev, facts


@cause("batch-norm-misused", specialises=("loss-not-falling",))
def batch_norm_misused(evidence: Evidence) -> Finding | None:
    kinds, training = evidence.seen(ev.ModelSeen).layer_kinds, course(evidence)
    if training is None or not any(kind in kinds for kind in NORMALISING):
        return None
    return _tiny_batches(evidence, training, kinds) or _other_in_inference(evidence, training)


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
    if predicts < thresholds.WORSE_IN_INFERENCE * abs(trained) or predicts < constant:
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
