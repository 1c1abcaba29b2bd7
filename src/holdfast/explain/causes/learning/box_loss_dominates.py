"""The box part of the loss is so large that the class part has no weight."""

from holdfast.explain.causes.learning import detector_course as detection
from holdfast.explain.causes.learning.detector_course import LossPart
from holdfast.explain.readings.numbers import number_of, weighted_median
from holdfast.explain.rule import Evidence, Fact, Finding, Remedy, Strength, Title, cause, ev, facts

#: Times the class part, over the run and at its end. Chosen: a detector whose box part is ten times the other learns.
_TIMES, _TIMES_AT_END = 100.0, 30.0
#: Norm of the gradient of the box head's weights, in that of the class head's, and times at the end that go with it:
#: the box part may have fallen, and a norm that is clipped still belongs to the boxes.
_GRADIENTS, _TIMES_WITH_GRADIENTS = 100.0, 5.0
#: Of the box part, that the total has at least: else the box part has a small weight.
_IN_TOTAL = 0.5
#: The total is that of the two parts without weights, up to this.
_WITHOUT_WEIGHTS = 1.2
#: Two parts that fall in step do not show their weights.
_ALIKE = 1e-9
#: How often an object has a higher score than a place without one, from which all of them are found; and records of
#: both parts over which the class part must have fallen otherwise.
_TELLS_ALL, _FEWEST_RECORDS = 0.99, 6
#: A part that is this small has nothing more to learn.
_DONE = 0.02


@cause(
    "box-loss-dominates",
    specialises=(
        "loss-not-falling",
        "too-few-updates",
        "class-imbalance",
        "all-background",
        "labels-unrelated",
    ),
)
def box_loss_dominates(evidence: Evidence) -> Finding | None:
    box, classes = detection.parts(evidence)
    if box is None or classes is None or len(box.values) != len(classes.values) or classes.last < _DONE:
        return None
    gradients = _of_heads(evidence)
    times = _times(box, classes, _TIMES_AT_END if gradients is None else _TIMES_WITH_GRADIENTS)
    learned = detection.classes_learned(evidence, classes) and not _no_better(evidence, box, classes)
    if times is None or learned is True:
        return None
    values = {"box": box.name, "classes": classes.name, "times": times}
    weigh = {"output": box.stem, "weight": 1 / times}
    return Finding(
        Strength.supported_if(learned is False),
        Title("box-loss-dominates", values),
        facts(
            box.fact,
            classes.fact,
            gradients,
            _accuracy(evidence, classes),
        ),
        [Remedy("loss.scale-boxes"), Remedy("loss.weigh-boxes", weigh)],
        ends=False,
    )


def _no_better(evidence: Evidence, box: LossPart, classes: LossPart) -> bool:
    """The class part is no lower than it began, below a box part that is as large to the end: what tells some objects
    from places without one was learned in the first steps."""
    answers = evidence.last(ev.DetectionAnswersSeen)
    apart = answers.event.apart if answers is not None else None
    known = apart is None or apart >= _TELLS_ALL or detection.class_accuracy(evidence) is not None
    large = _weight_of_boxes(box, classes) * box.last >= _TIMES * classes.last
    return not known and large and len(classes.values) >= _FEWEST_RECORDS and classes.last >= classes.first


def _of_heads(evidence: Evidence) -> Fact | None:
    """Gradients of the heads' weights at the end, where the heads are known by their units and one is far larger."""
    looks, compared = evidence.all(ev.LayersMeasured), detection.class_output(evidence)
    units = compared.event.units if compared is not None else None
    if not looks or units is None or units == detection.BOX_UNITS:
        return None
    norms = [
        [number_of(one.get("norm")) for one in looks[-1].event.gradients if one.get("units") == wide]
        for wide in (detection.BOX_UNITS, units)
    ]
    box, classes = (own[0] if len(own) == 1 else None for own in norms)
    if box is None or classes is None or box < _GRADIENTS * classes:
        return None
    return looks[-1].fact("gradients.of-heads", box=box, classes=classes, step=looks[-1].event.step)


def _times(box: LossPart, classes: LossPart, at_end: float) -> float | None:
    """How many times the class part the box part has in what is minimised, at half of the steps; None if it is not so
    large."""
    rows = zip(box.values, classes.values, box.spans, strict=True)
    known = [(one / other, span) for one, other, span in rows if other > 0]
    totals = [total for total in box.totals if total is not None]
    if not known or (totals and totals[-1] < _IN_TOTAL * box.values[-1]):
        return None
    weight = _weight_of_boxes(box, classes)
    times = [weight * one for one, _ in known]
    usual = weighted_median(times, [span for _, span in known])
    return usual if usual >= _TIMES and times[-1] >= at_end else None


def _weight_of_boxes(box: LossPart, classes: LossPart) -> float:
    """Against that of the classes, worked out from the totals; 1 where they are the sums, or do not show it."""
    rows = [
        (one, other, total)
        for one, other, total in zip(box.values, classes.values, box.totals, strict=True)
        if total is not None
    ]
    if not rows or all(total <= _WITHOUT_WEIGHTS * (one + other) for one, other, total in rows):
        return 1.0
    # Least squares: total = a * box + b * classes.
    bb, cc = sum(b * b for b, _, _ in rows), sum(c * c for _, c, _ in rows)
    bc, bt, ct = (
        sum(b * c for b, c, _ in rows),
        sum(b * t for b, _, t in rows),
        sum(c * t for _, c, t in rows),
    )
    size = bb * cc - bc * bc
    if size <= _ALIKE * bb * cc:
        return 1.0
    of_box, of_classes = (bt * cc - ct * bc) / size, (ct * bb - bt * bc) / size
    return of_box / max(of_classes, 1.0) if of_box > 0 else 1.0


def _accuracy(evidence: Evidence, classes: LossPart) -> Fact | None:
    accuracy, share = detection.class_accuracy(evidence), detection.majority(evidence)
    if accuracy is None or share is None:
        return None
    values = {"accuracy": accuracy, "majority": share}
    return Fact("training.accuracy-against-majority", values, classes.source)
