"""The number of output units does not fit the number of classes."""

from holdfast.explain.readings.compared import BINARY, DIFFERENCES, Compared, compared, raised_by_shapes
from holdfast.explain.rule import Evidence, Fact, Finding, Remedy, Strength, Title, cause

_FEWEST_CLASSES = 3  # that one unit cannot tell apart
_SQUASHED = ("sigmoid", "hard_sigmoid", "softmax")


@cause(
    "output-units-mismatch",
    specialises=(
        "loss-not-falling",
        "too-few-updates",
        "loss-not-finite",
        "class-id-out-of-range",
        "output-range-mismatch",
        "script-error",
    ),
)
def output_units_mismatch(evidence: Evidence) -> Finding | None:
    """One unit between 0 and 1 for class ids of which there are three or more."""
    seen = compared(evidence)
    raised = raised_by_shapes(evidence)
    if seen is not None and raised:
        return _too_wide(seen, raised)
    labels = seen.labels if seen is not None else None
    if seen is None or labels is None or not seen.is_class_id or seen.output.units != 1:
        return None
    classes = labels.class_count or 0
    ids = labels.min is not None and labels.max is not None and labels.max - labels.min < 2 * classes
    if classes < _FEWEST_CLASSES or not ids or seen.output.activation not in _SQUASHED:
        return None
    binary = seen.loss in BINARY
    asks_for_classes = binary or any("accuracy" in metric for metric in seen.output.metrics)
    if not asks_for_classes:
        return None
    values = {"layer": seen.layer, "classes": classes, "where": seen.output.where, "loss": seen.output.loss}
    most = int(labels.max or 0) + 1
    return Finding(
        Strength.ESTABLISHED if binary else seen.strength,
        Title("output-units-mismatch", values),
        seen.because,
        [Remedy("output.one-unit-each", {"layer": seen.output.layer, "units": most})],
        ends=False,
    )


def _too_wide(seen: Compared, raised: list[Fact]) -> Finding | None:
    """Several units for targets of one number each, and the loss refuses to compare them."""
    units = seen.output.units or 0
    if seen.loss not in DIFFERENCES or not seen.is_one_number or units < 2:
        return None
    values = {"layer": seen.layer, "units": units, "where": seen.output.where}
    return Finding(
        Strength.ESTABLISHED,
        Title("output-units-mismatch.too-wide", values),
        [*raised, *seen.because],
        [Remedy("output.linear-for-numbers", {"units": 1})],
    )
