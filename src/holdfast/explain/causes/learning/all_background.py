"""The detector answers background at every place."""

from holdfast.explain.causes.learning import detector_course as detection
from holdfast.explain.rule import Evidence, Fact, Finding, Recorded, Remedy, Strength, Title, cause, ev, facts

_MOSTLY = 0.5  # share of the most frequent class, from which it is the background
#: Accuracy and the share of the background are the same within this.
_SAME = 0.005
_FEWEST_EPOCHS = 3
#: Anchors, or places of a grid, in one image. Chosen: above the labels that a classifier gives to one image.
_FEWEST_PLACES = 32
#: How often an object has a higher score than a place without one: above the first it is found, if only with a lower
#: limit; below the second it is not.
_FINDS, _FINDS_NOT = 0.95, 0.8
#: Limits from which a number is an answer: of a probability, and of a number before the sigmoid.
_OF_PROBABILITY, _OF_NUMBER = 0.5, 0.0
_PROBABILITIES = ("sigmoid", "hard_sigmoid", "softmax")


@cause(
    "all-background",
    specialises=("loss-not-falling", "too-few-updates", "class-imbalance", "metric-mismatch"),
)
def all_background(evidence: Evidence) -> Finding | None:
    seen, share = detection.targets(evidence), detection.majority(evidence)
    if seen is None or share is None or not _MOSTLY <= share < 1 or not _of_places(evidence, seen.event):
        return None
    answers = _answers(evidence)
    epochs = len(evidence.fit.epochs) if evidence.fit is not None else 0
    part = detection.class_part(evidence)
    learned = detection.classes_learned(evidence, part)
    if (answers is None and learned is True) or (
        answers is not None and not _one_answer(evidence, answers.event)
    ):
        return None
    at_share = _accuracy_at_share(evidence, share)
    if answers is None and at_share is None:
        return None
    finds = answers.event.apart if answers is not None else None
    if finds is not None and finds >= _FINDS:
        return None
    lost = learned is False or (finds is not None and finds < _FINDS_NOT)
    values = {"share": share, "class_id": next(iter(seen.event.ids)), "places": seen.event.places}
    return Finding(
        Strength.supported_if(lost and epochs >= _FEWEST_EPOCHS),
        Title("all-background", values),
        facts(seen.fact("places.by-class", **values), _answered(answers), at_share),
        [Remedy("classes.focal-loss"), Remedy("classes.sample-places")],
        ends=False,
    )


def _of_places(evidence: Evidence, event: ev.DetectionTargetsSeen) -> bool:
    """Classes of boxes, or of many places in images: rows of a few labels are those of a classifier."""
    targets = [one.event for one in evidence.all(ev.ValuesSeen) if one.event.role == "target"]
    most = max((one.shape[0] for one in targets if one.shape), default=0)
    places = event.several and bool(event.image) and most >= _FEWEST_PLACES
    return len(event.ids) > 1 and (bool(event.columns) or places)


def _answers(evidence: Evidence) -> Recorded[ev.DetectionAnswersSeen] | None:
    seen = [one for one in evidence.all(ev.DetectionAnswersSeen) if len(one.event.wanted) > 1]
    fit = evidence.fit
    return seen[-1] if seen and (fit is None or seen[-1].event.fit == fit.number) else None


def _one_answer(evidence: Evidence, event: ev.DetectionAnswersSeen) -> bool:
    if event.answered:
        return list(event.answered) == [str(event.most_frequent)]
    compared = detection.class_output(evidence)
    activation = compared.event.activation if compared is not None else ""
    limit = _OF_PROBABILITY if activation in _PROBABILITIES else _OF_NUMBER
    return event.highest is not None and event.highest < limit


def _answered(answers: Recorded[ev.DetectionAnswersSeen] | None) -> Fact | None:
    if answers is None:
        return None
    event = answers.event
    objects = sum(event.wanted.values()) - event.wanted.get(str(event.most_frequent), 0)
    return answers.fact("places.answered", places=event.places, objects=objects, apart=event.apart)


def _accuracy_at_share(evidence: Evidence, share: float) -> Fact | None:
    accuracy = detection.class_accuracy(evidence)
    if accuracy is None or abs(accuracy - share) > _SAME:
        return None
    values = {"accuracy": accuracy, "majority": share}
    return Fact("training.accuracy-against-majority", values, "journal.jsonl")
