"""The labels do not depend on the inputs."""

import math

from holdfast.explain.readings.compared import (
    BINARY,
    CATEGORICAL,
    DIFFERENCES,
    SPARSE,
    Compared,
    compared,
    inputs,
)
from holdfast.explain.readings.course import Course, course, validated_by_chance, within_batch
from holdfast.explain.readings.files import sorted_as_text
from holdfast.explain.readings.numbers import number_of
from holdfast.explain.rule import Evidence, Fact, Finding, Recorded, Remedy, Strength, Title, cause, ev, facts
from holdfast.explain.validations import classes_by_chance, found_nothing

#: Rows, and most columns, for which the nearest row says something: in many columns every row is far from every other,
#: unless they come from somewhere. Among few columns a label that depends on any of them shows.
_FEWEST_ROWS, _MOST_COLUMNS, _FEW_COLUMNS = 300, 30, 10
#: Standard deviations of chance within which an agreement is none: the usual bound of five percent above it, and more
#: below, where only a pattern such as a parity lies.
_ABOVE, _BELOW = 2.0, 4.0
#: Rows that are nearer to each other than chance makes them come from somewhere, and so do labels. Columns of noise are
#: a demonstration as often as a fault. Measured: 1.00 to 1.03 for columns of noise, 1.17 to 1.6 for blobs and moons.
_STRUCTURED = 1.1
#: The same for wide rows, whose neighbours are then of their kind; 1.6 to 1.7 for digits. Of two classes only, a label
#: may well be a parity of details that no neighbour and no column shows.
_WIDE_STRUCTURED, _FEWEST_CLASSES = 1.3, 3
#: Of shuffled labels, the share that goes with some column as well as the labels do, from which these go with none.
_AS_RELATED = 0.05
#: Epochs after which a network would have found something; in a loop, a loss that stays at this share of a constant
#: answer's or more. Chosen.
_FEWEST_EPOCHS, _AT_CONSTANT = 5, 0.97
#: Rows that came again, and the share of those that chance would give another label, from which they were shuffled.
_FEWEST_AGAIN, _RELABELLED = 30, 0.8
#: The same for images: steps of training, and rows for which features would have shown it. In tests 1000 images
#: showed which of two shapes lies on the left (0.24); labels in another order gave 0.0 to 0.09.
_MANY_STEPS, _ROWS_OF_IMAGES, _ABOVE_IMAGES = 100, 500, 3.0
#: The same for fewer rows. In tests 300 images of shapes, digits, stripes and counts gave 0.45 to 0.99, and with labels
#: in another order 0.0 to 0.11: 1 / sqrt(300) is 0.06.
_ABOVE_FEW_IMAGES = 1.0
#: Share by which the loss of a validation falls after its first epoch, or that of training from its middle to its end,
#: where something is learned. Chosen: that of answers which are the mean stays where it is, up to noise.
_STAYS = 0.1
#: Share by which the loss of a detector falls that learns its images by heart, after so many passes and steps, and AP50
#: of one that finds nothing else. On the test data 0.96 after 35 passes, with 0.01; 0.63 after 10 of one that learns.
_BY_HEART, _PASSES_BY_HEART, _STEPS_BY_HEART, _FOUND_BY_HEART = 0.8, 20, 500, 0.02
#: Correlation of neighbouring pixels: images of noise are a demonstration as often as a fault.
_SMOOTH = 0.2


@cause("labels-unrelated", specialises=("loss-not-falling", "too-few-updates"))
def labels_unrelated(evidence: Evidence) -> Finding | None:
    by_pairs = _of_pairs(evidence) or _of_boxes(evidence)
    if by_pairs is not None:
        return by_pairs
    measured, seen = evidence.last(ev.DependenceSeen), compared(evidence)
    if measured is None or seen is None or seen.course is None:
        return None
    if measured.event.of == "images" and seen.loss in DIFFERENCES:
        return _of_numbers_for_images(evidence, measured, seen)
    if measured.event.of == "images":
        return _of_images(evidence, measured, seen)
    if seen.learned is not False:
        return None
    if seen.loss not in BINARY | CATEGORICAL | SPARSE | DIFFERENCES or not _long_enough(seen.course):
        return None
    event, columns = measured.event, max((one.event.columns or 0 for one in inputs(evidence)), default=0)
    values = {"agreement": event.agreement, "chance": event.chance, "rows": event.rows, "columns": columns,
              "of": event.of}  # fmt: skip
    again = _another_label(measured)
    if not again and (event.rows < _FEWEST_ROWS or columns < 1 or not _by_chance(event)):
        return None
    strength = Strength.SUPPORTED if again else _by_neighbours(event, columns, seen.classes)
    if strength is None:
        return None
    return Finding(
        strength,
        Title("labels-unrelated", values),
        facts(
            again
            and measured.fact("labels.another-each-time", again=event.rows_again, other=event.relabelled),
            _by_chance(event) and measured.fact("labels.of-nearest-rows", **values),
            seen.because,
        ),
        [Remedy("labels.check-order")],
        ends=False,
    )


def _of_pairs(evidence: Evidence) -> Finding | None:
    """Two loaders with an order each, and a loss that is what it is by chance: rows that do not belong together."""
    seen, training = evidence.first(ev.PairedLoadersSeen), course(evidence)
    if seen is None or training is None or training.steps < _MANY_STEPS:
        return None
    chance = within_batch(evidence) or training.constant
    if chance is None or not math.isfinite(training.last) or training.last < _AT_CONSTANT * chance:
        return None
    values = {**ev.payload(seen.event), "last": training.last, "chance": chance, "steps": training.steps}
    return Finding(
        Strength.SUPPORTED,
        Title("labels-unrelated.pairs", values),
        [seen.fact("loaders.orders-apart", **values), seen.fact("loss.by-chance", **values)],
        [Remedy("labels.one-dataset")],
        ends=False,
    )


def _of_boxes(evidence: Evidence) -> Finding | None:
    """A run of our own trainer: it locates objects and names them by chance, or learns its images by heart."""
    named, training = classes_by_chance(evidence), course(evidence)
    if named is not None:
        remedies = [Remedy("labels.check-recipe")]
        title = Title("labels-unrelated.classes-of-boxes", named.values)
        return Finding(Strength.POSSIBLE, title, [named], remedies, ends=False)
    start, nothing = evidence.seen(ev.FitStarted), found_nothing(evidence)
    images = next(
        (one.event.file_count for one in evidence.all(ev.DatasetSeen) if one.event.role == "train"), None
    )
    if training is None or nothing is None or not images or training.fell < _BY_HEART:
        return None
    passes = training.steps * (start.batch_size or 0) / images
    if (
        passes < _PASSES_BY_HEART
        or training.steps < _STEPS_BY_HEART
        or nothing.values["precision"] >= _FOUND_BY_HEART
    ):
        return None
    return Finding(
        Strength.POSSIBLE,
        Title("labels-unrelated.by-heart", {"fell": training.fell, "passes": passes}),
        [training.fact, nothing],
        [Remedy("labels.check-recipe")],
        ends=False,
    )


def _long_enough(training: Course) -> bool:
    if training.epochs:
        return training.epochs >= _FEWEST_EPOCHS
    return training.stuck_above(_AT_CONSTANT)


def _another_label(measured: Recorded[ev.DependenceSeen]) -> bool:
    """The same rows come with other labels, as often as labels that are drawn would be others."""
    event = measured.event
    share = event.relabelled / max(1, event.rows_again)
    return (
        event.of == "classes"
        and event.rows_again >= _FEWEST_AGAIN
        and share > _RELABELLED * (1 - event.chance)
    )


def _by_neighbours(event: ev.DependenceSeen, columns: int, classes: int) -> Strength | None:
    # What is left of a regression that starts at its optimum is noise, and so are many advantages and residuals.
    of_classes, structure = event.of == "classes", event.structure or 0
    if columns <= _FEW_COLUMNS:
        return Strength.supported_if(of_classes and structure > _STRUCTURED)
    unseen = (event.shuffles_as_related or 0) >= _AS_RELATED
    if of_classes and classes >= _FEWEST_CLASSES and structure > _WIDE_STRUCTURED and unseen:
        return Strength.SUPPORTED
    return Strength.POSSIBLE if columns <= _MOST_COLUMNS else None


def _of_images(evidence: Evidence, measured: Recorded[ev.DependenceSeen], seen: Compared) -> Finding | None:
    """Features that tell shapes, colours and textures apart say nothing about the labels of images left out."""
    if seen.loss not in BINARY | CATEGORICAL | SPARSE or seen.course is None or not _long_enough(seen.course):
        return None
    by_heart = validated_by_chance(evidence)
    if seen.learned is not False and by_heart is None:
        return None
    return _nothing_of_images(evidence, measured, seen, by_heart)


def _of_numbers_for_images(
    evidence: Evidence, measured: Recorded[ev.DependenceSeen], seen: Compared
) -> Finding | None:
    """Keypoints, boxes, sizes: the loss falls to that of their mean, which is seldom known, and no further."""
    course, late = seen.course, seen.course.fell_late if seen.course is not None else None
    if course is None or not _long_enough_for_numbers(course) or late is None or late > _STAYS:
        return None
    if _fell_in_validation(evidence) or (course.constant is not None and seen.learned is True):
        return None
    return _nothing_of_images(evidence, measured, seen)


def _long_enough_for_numbers(course: Course) -> bool:
    return course.steps >= _MANY_STEPS and (not course.epochs or course.epochs >= _FEWEST_EPOCHS)


def _fell_in_validation(evidence: Evidence) -> bool:
    """After the first epoch, in which the mean is learned."""
    epochs = evidence.fit.epochs if evidence.fit is not None else ()
    losses = [number_of(one.event.logs.get("val_loss")) for one in epochs]
    known = [loss for loss in losses if loss is not None]
    return len(known) > 1 and min(known[1:]) < (1 - _STAYS) * known[0]


def _nothing_of_images(
    evidence: Evidence, measured: Recorded[ev.DependenceSeen], seen: Compared, by_heart: Fact | None = None
) -> Finding | None:
    event, course = measured.event, seen.course
    noise = 1 / math.sqrt(max(1, event.rows))
    if course is None or event.rows < _FEWEST_ROWS or event.agreement > _ABOVE_IMAGES * noise:
        return None
    values, names = {"agreement": event.agreement, "rows": event.rows}, sorted_as_text(evidence)
    enough = (
        event.rows >= _ROWS_OF_IMAGES or event.agreement <= _ABOVE_FEW_IMAGES * noise or names is not None
    )
    sure = enough and (event.structure or 0) > _SMOOTH and course.steps >= _MANY_STEPS
    return Finding(
        Strength.SUPPORTED if sure else Strength.POSSIBLE,
        Title("labels-unrelated.images", values),
        facts(measured.fact("labels.of-images-left-out", **values), names, by_heart, seen.because),
        [Remedy("labels.check-files")],
        ends=False,
    )


def _by_chance(event: ev.DependenceSeen) -> bool:
    """Two rows are often each other's nearest, and agree or disagree both: the variance is up to twice the usual."""
    share = event.chance * (1 - event.chance) if event.of == "classes" else 1.0
    noise = math.sqrt(2 * share / event.rows)
    return -_BELOW * noise < event.agreement - event.chance < _ABOVE * noise
