"""Predictions and targets have different shapes, and are stretched to fit each other without a word."""

from typing import TypeAlias

from holdfast.explain.readings.compared import BINARY, DIFFERENCES, Compared, compared
from holdfast.explain.rule import Evidence, Finding, Remedy, Strength, Title, cause

_Shape: TypeAlias = list[int | None]
_LOSSES = DIFFERENCES | BINARY | {"poisson", "hinge", "squared_hinge"}


@cause("shapes-broadcast", specialises=("loss-not-falling", "too-few-updates", "output-range-mismatch"))
def shapes_broadcast(evidence: Evidence) -> Finding | None:
    seen = compared(evidence)
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
        Strength.ESTABLISHED if every_pair and seen.learned is not True else seen.strength,
        Title("shapes-broadcast", values),
        [seen.seen.fact("shapes.compared", **values), *seen.because],
        _remedies(seen, predicted, wanted),
        ends=False,
    )


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
