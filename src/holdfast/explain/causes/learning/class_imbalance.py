"""One class is so frequent that the network answers nothing else, or one has no example at all."""

from holdfast.explain.readings.compared import BINARY, CATEGORICAL, SPARSE, compared, is_spread
from holdfast.explain.readings.course import weighted
from holdfast.explain.rule import Evidence, Finding, Remedy, Strength, Title, cause, ev, facts

#: Share of the largest class. Chosen: at four to one a network still learns the smaller class by itself.
_MOSTLY = 0.85
#: Accuracy and the share of the largest class are the same within this.
_SAME = 0.005
_FEWEST_EPOCHS = 3
#: Share of the boxes for validation that are of classes without one for training, from which the result is spoiled.
_SPOILS = 0.1


@cause("class-imbalance", specialises=("loss-not-falling", "too-few-updates"))
def class_imbalance(evidence: Evidence) -> Finding | None:
    return _by_answers(evidence) or _never_trained(evidence)


def _never_trained(evidence: Evidence) -> Finding | None:
    """Classes that a detector is judged by and never shown."""
    seen = evidence.last(ev.ClassesUnlearned)
    if seen is None or not seen.event.boxes:
        return None
    share = sum(seen.event.boxes.values()) / max(1, seen.event.of)
    values = {"classes": list(seen.event.boxes), "share": share, "boxes": sum(seen.event.boxes.values())}
    return Finding(
        Strength.supported_if(share >= _SPOILS),
        Title("class-imbalance.never-trained", values),
        [seen.fact("classes.only-validated", **values)],
        [Remedy("classes.train-on-them")],
        ends=False,
    )


def _by_answers(evidence: Evidence) -> Finding | None:
    seen = compared(evidence)
    labels, course = (seen.labels, seen.course) if seen is not None else (None, None)
    if seen is None or labels is None or course is None or seen.loss not in BINARY | CATEGORICAL | SPARSE:
        return None
    share, accuracy = course.majority, course.accuracy
    if share is None or accuracy is None or not _MOSTLY <= share < 1 or not is_spread(labels):
        return None
    if abs(accuracy - share) > _SAME or course.epochs < _FEWEST_EPOCHS:
        return None
    by_loss = course._replace(accuracy=None).learned
    name = next(iter(labels.classes))
    values = {"share": share, "accuracy": accuracy, "class_id": name, "epochs": course.epochs}
    return Finding(
        Strength.SUPPORTED if by_loss is False and not weighted(evidence) else Strength.POSSIBLE,
        Title("class-imbalance", values),
        facts(seen.target_fact, course.fact, course.accuracy_fact),
        [
            Remedy("classes.weight", {"weight": round(share / max(1 - share, 1e-3), 1), "class_id": name}),
            Remedy("metric.of-rare-class"),
        ],
        ends=False,
    )
