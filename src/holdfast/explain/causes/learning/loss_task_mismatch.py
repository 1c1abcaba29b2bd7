"""The loss does not fit the labels."""

from dataclasses import replace

from holdfast.explain.readings.compared import (
    BINARY,
    CATEGORICAL,
    DIFFERENCES,
    SPARSE,
    Compared,
    compared,
    raised_by_shapes,
)
from holdfast.explain.rule import Evidence, Fact, Finding, Remedy, Strength, Title, cause

#: Beyond 0 and 1, so that rounding and label smoothing do not count. Chosen.
_OUTSIDE = 0.05
#: So far beyond, no smoothing and no rounding: the loss has no lowest value there.
_FAR_OUTSIDE = 0.5
#: Different values from which targets are a measurement, not classes. Chosen: above any list of classes with decimals.
_MANY_VALUES = 30
#: Units from which as many units as class ids are no coincidence. Chosen.
_FEWEST_CLASSES = 3


@cause(
    "loss-task-mismatch",
    specialises=(
        "loss-not-falling",
        "too-few-updates",
        "loss-not-finite",
        "script-error",
        "class-id-out-of-range",
    ),
)
def loss_task_mismatch(evidence: Evidence) -> Finding | None:
    seen = compared(evidence)
    if seen is None or seen.labels is None or not seen.loss:
        return None
    raised = raised_by_shapes(evidence)
    if raised:
        return _other_labels(seen, raised)
    return (
        _binary_outside(seen)
        or _classes_of_numbers(seen)
        or _differences_of_classes(seen)
        or _differences_of_rows(seen)
        or _difference_of_one_id(seen)
    )


def _other_labels(seen: Compared, raised: list[Fact]) -> Finding | None:
    """Rows with one 1 and class ids are the same labels for two losses, each of which refuses those of the other."""
    wants_rows = seen.loss in CATEGORICAL and seen.is_class_id and (seen.output.units or 0) > 1
    wants_ids = seen.loss in SPARSE and seen.labels is not None and seen.labels.one_hot
    if not wants_rows and not wants_ids:
        return None
    loss = "sparse_categorical_crossentropy" if wants_rows else "categorical_crossentropy"
    kind, remedies = (
        "loss-task-mismatch.ids-for-rows" if wants_rows else "loss-task-mismatch.rows-for-ids",
        (Remedy("loss.use", {"loss": loss}),),
    )
    found = _finding(seen, kind, remedies, Strength.ESTABLISHED)
    return replace(found, because=[*raised, *seen.because], ends=True)


def _binary_outside(seen: Compared) -> Finding | None:
    """Of a target above 1 or below 0 a binary cross-entropy has no lowest value."""
    labels = seen.labels
    if seen.loss not in BINARY or labels is None or labels.min is None or labels.max is None:
        return None
    if labels.min >= -_OUTSIDE and labels.max <= 1 + _OUTSIDE:
        return None
    if seen.is_class_id:  # class ids: another cause
        return None
    below = seen.course is not None and seen.course.last < 0
    far = labels.min < -_FAR_OUTSIDE or labels.max > 1 + _FAR_OUTSIDE
    strength = Strength.SUPPORTED if far and seen.learned is not True else seen.strength
    strength = Strength.ESTABLISHED if below else strength  # no valid label makes it negative
    remedies = (Remedy("targets.scale-to-unit"), Remedy("loss.use", {"loss": "mse"}))
    return _finding(seen, "loss-task-mismatch.outside", remedies, strength)


def _classes_of_numbers(seen: Compared) -> Finding | None:
    """A cross-entropy of class ids that are measurements."""
    labels = seen.labels
    if seen.loss not in SPARSE | CATEGORICAL or labels is None or labels.whole_numbers:
        return None
    if not seen.is_one_number or (labels.distinct or 0) < _MANY_VALUES:
        return None
    return _finding(seen, "loss-task-mismatch.numbers", (Remedy("loss.regression"),), seen.strength)


def _differences_of_classes(seen: Compared) -> Finding | None:
    """Class ids are compared with a row of probabilities, as if the id were a probability itself."""
    labels = seen.labels
    if seen.loss not in DIFFERENCES or labels is None or not seen.is_class_id:
        return None
    if seen.output.activation != "softmax" or (seen.output.units or 0) < 2:
        return None
    remedies = (Remedy("loss.use", {"loss": "sparse_categorical_crossentropy"}),)
    return _finding(seen, "loss-task-mismatch.ids", remedies, Strength.ESTABLISHED)


def _difference_of_one_id(seen: Compared) -> Finding | None:
    """One class id for each row is the target of every unit, and there is a unit for each class: each unit learns the
    number of the class. Its mean falls like any other, so that a course says nothing here."""
    labels, units = seen.labels, seen.output.units or 0
    if seen.loss not in DIFFERENCES or labels is None or not seen.is_class_id or units < _FEWEST_CLASSES:
        return None
    ids = {int(one) for one in labels.classes}
    if (
        labels.class_count != units
        or ids != set(range(units))
        or seen.output.activation not in ("linear", "relu")
    ):
        return None
    remedies = (Remedy("loss.use", {"loss": "sparse_categorical_crossentropy"}),)
    return _finding(seen, "loss-task-mismatch.ids", remedies, Strength.SUPPORTED)


def _differences_of_rows(seen: Compared) -> Finding | None:
    """Rows with one 1 as measurements. That often works: blamed only where nothing was learned."""
    labels = seen.labels
    if seen.loss not in DIFFERENCES or labels is None or not labels.one_hot or seen.learned is not False:
        return None
    if seen.output.activation not in ("linear", "softmax", "relu"):
        return None
    units = seen.output.units
    remedies = (Remedy("output.softmax-and-categorical", {"layer": seen.output.layer, "units": units}),)
    return _finding(seen, "loss-task-mismatch.rows", remedies, seen.strength)


def _finding(seen: Compared, kind: str, remedies: tuple[Remedy, ...], strength: Strength) -> Finding:
    labels = seen.labels
    values = {"loss": seen.output.loss, "where": seen.output.loss_where, "layer": seen.layer,
              "units": seen.output.units,
              "low": labels.min if labels else None, "high": labels.max if labels else None}  # fmt: skip
    title = Title(kind, values)
    return Finding(strength, title, seen.because, remedies, ends=False)
