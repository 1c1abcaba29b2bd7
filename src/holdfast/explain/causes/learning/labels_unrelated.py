"""The labels do not depend on the inputs."""

import math

from holdfast.explain.readings.compared import BINARY, CATEGORICAL, DIFFERENCES, SPARSE, compared, inputs
from holdfast.explain.rule import Evidence, Finding, Remedy, Strength, Title, cause, ev

#: Rows, and most columns, for which the nearest row says something: in many columns every row is far from every other.
#: Among few columns a label that depends on any of them shows.
_FEWEST_ROWS, _MOST_COLUMNS, _FEW_COLUMNS = 300, 30, 10
#: Standard deviations of chance within which an agreement is none: the usual bound of five percent above it, and more
#: below, where only a pattern such as a parity lies.
_ABOVE, _BELOW = 2.0, 4.0
#: Rows that are nearer to each other than chance makes them come from somewhere, and so do labels. Columns of noise are
#: a demonstration as often as a fault. Measured: 1.00 to 1.03 for columns of noise, 1.17 to 1.6 for blobs and moons.
_STRUCTURED = 1.1
#: Epochs after which a network would have found something. Chosen.
_FEWEST_EPOCHS = 5


@cause("labels-unrelated", specialises=("loss-not-falling", "too-few-updates"))
def labels_unrelated(evidence: Evidence) -> Finding | None:
    measured, seen = evidence.last(ev.DependenceSeen), compared(evidence)
    if measured is None or seen is None or seen.course is None or seen.learned is not False:
        return None
    event, columns = measured.event, max((one.event.columns or 0 for one in inputs(evidence)), default=0)
    if seen.loss not in BINARY | CATEGORICAL | SPARSE | DIFFERENCES or seen.course.epochs < _FEWEST_EPOCHS:
        return None
    if event.rows < _FEWEST_ROWS or not 0 < columns <= _MOST_COLUMNS:
        return None
    if not _by_chance(event):
        return None
    values = {"agreement": event.agreement, "chance": event.chance, "rows": event.rows, "columns": columns,
              "of": event.of}  # fmt: skip
    # What is left of a regression that starts at its optimum is noise, and so are many advantages and residuals.
    sure = columns <= _FEW_COLUMNS and event.of == "classes" and (event.structure or 0) > _STRUCTURED
    return Finding(
        Strength.SUPPORTED if sure else Strength.POSSIBLE,
        Title("labels-unrelated", values),
        [measured.fact("labels.of-nearest-rows", **values), *seen.because],
        [Remedy("labels.check-order")],
        ends=False,
    )


def _by_chance(event: ev.DependenceSeen) -> bool:
    """Two rows are often each other's nearest, and agree or disagree both: the variance is up to twice the usual."""
    share = event.chance * (1 - event.chance) if event.of == "classes" else 1.0
    noise = math.sqrt(2 * share / event.rows)
    return -_BELOW * noise < event.agreement - event.chance < _ABOVE * noise
