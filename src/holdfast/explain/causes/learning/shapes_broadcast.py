"""Predictions and targets have different shapes, and are stretched to fit each other without a word."""

from typing import TypeAlias

from holdfast.explain.readings.compared import BINARY, DIFFERENCES, Compared, compared
from holdfast.explain.rule import Evidence, Finding, Remedy, Strength, Title, cause

_Shape: TypeAlias = list[int | None]
#: Of a difference that a loss of the user's own bends or weighs, as that of a quantile does.
_BENT = "difference"
_LOSSES = DIFFERENCES | BINARY | {"poisson", "hinge", "squared_hinge", _BENT}


@cause("shapes-broadcast", specialises=("loss-not-falling", "too-few-updates", "output-range-mismatch"))
def shapes_broadcast(evidence: Evidence) -> Finding | None:
    seen = compared(evidence) or compared(evidence, in_step=True)
    if seen is None or seen.loss not in _LOSSES:
        return None
    shapes = seen.output.prediction_shape, seen.output.target_shape
    if not all(isinstance(shape, list) for shape in shapes):
        return None
    predicted, wanted = (list(shape) for shape in shapes)
    if seen.output.by == "compile":
        # A model that was built by its first batch has that batch's size as its own.
        shapes = [None, *predicted[1:]], [None, *wanted[1:]]
        predicted, wanted = _as_keras_compares(*shapes)
    if not _stretches(predicted, wanted):
        return None
    every_pair = len(predicted) != len(wanted)
    values = {"predicted": shapes[0], "wanted": shapes[1], "every_pair": every_pair, "layer": seen.layer,
              "where": seen.output.where}  # fmt: skip
    return Finding(
        _strength(seen, every_pair, mixed=_mixes_the_rows(predicted, wanted)),
        Title("shapes-broadcast", values),
        [seen.seen.fact("shapes.compared", **values), *seen.because],
        _remedies(seen, predicted, wanted),
        ends=False,
    )


def _strength(seen: Compared, every_pair: bool, *, mixed: bool) -> Strength:
    course = seen.course
    if course is None or not every_pair:
        return seen.strength
    if seen.learned is not True:
        return Strength.SUPPORTED if seen.loss == _BENT else Strength.ESTABLISHED
    # Of every pair the loss falls until it has that of the best constant answer, and no further: where that is not
    # known, a fall says nothing; a loss far below it does not compare every pair.
    falls_anyhow = mixed and not seen.output.part
    unknown = course.constant is None and (seen.loss == _BENT or falls_anyhow)
    return Strength.SUPPORTED if unknown else seen.strength


def _mixes_the_rows(predicted: _Shape, wanted: _Shape) -> bool:
    """One number a row on both sides, and the rows lie along different axes: (n,) against (n, 1)."""
    rows = [[side for side in shape if side != 1] for shape in (predicted, wanted)]
    return len(rows[0]) == 1 and rows[0] == rows[1] and (predicted[-1] == 1) is not (wanted[-1] == 1)


def _as_keras_compares(predicted: _Shape, wanted: _Shape) -> tuple[_Shape, _Shape]:
    """Keras adds or removes a last axis of size 1 where the ranks differ by one."""
    if len(predicted) == len(wanted) + 1 and predicted[-1] == 1:
        return predicted, [*wanted, 1]
    if len(wanted) == len(predicted) + 1 and wanted[-1] == 1:
        return predicted, wanted[:-1]
    return predicted, wanted


def _stretches(predicted: _Shape, wanted: _Shape) -> bool:
    """They differ, and every pair of sides from the last one on is equal or has a 1."""
    if predicted == wanted:
        return False
    pairs = list(zip(reversed(predicted), reversed(wanted), strict=False))
    return all(one == other or 1 in (one, other) for one, other in pairs)


def _remedies(seen: Compared, predicted: _Shape, wanted: _Shape) -> tuple[Remedy, ...]:
    sequences = len(predicted) > len(wanted) + 1 or seen.output.layer in ("LSTM", "GRU", "SimpleRNN")
    if sequences:
        return (Remedy("output.one-answer-each"),)
    return (Remedy("targets.same-shape", {"units": seen.output.units}),)
