"""Predictions and targets have different shapes, and are stretched to fit each other without a word."""

import math
from typing import TypeAlias

from holdfast.explain.readings.arrays import stretched_arrays
from holdfast.explain.readings.compared import BINARY, DIFFERENCES, Compared, compared
from holdfast.explain.readings.course import course, newest_outputs, targets
from holdfast.explain.readings.memory import gpu_refused, refused_memory
from holdfast.explain.rule import Evidence, Finding, Remedy, Strength, Title, cause

_Shape: TypeAlias = list[int | None]
#: Of a difference that a loss of the user's own bends or weighs, as that of a quantile does.
_BENT = "difference"
_LOSSES = DIFFERENCES | BINARY | {"poisson", "hinge", "squared_hinge", _BENT}


@cause("shapes-broadcast", specialises=("loss-not-falling", "too-few-updates", "output-range-mismatch"))
def shapes_broadcast(evidence: Evidence) -> Finding | None:
    refused = _refused(evidence)
    if refused is not None:
        return refused
    compiled = compared(evidence)
    own = compiled is None or compiled.output.own_loss
    single = (compared(evidence, in_step=True) if own else None) or compiled
    seen = single or _of_several(evidence)
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
    every_pair = len(predicted) != len(wanted)
    if not _stretches(predicted, wanted) or (compiled is not None and own and not every_pair):
        return None  # a loss of the user's own may compare one number with several answers, as a mixture has them
    values = {"predicted": shapes[0], "wanted": shapes[1], "every_pair": every_pair, "layer": seen.layer,
              "where": seen.output.where}  # fmt: skip
    strength = _strength(seen, every_pair, mixed=_mixes_the_rows(predicted, wanted))
    return Finding(
        strength if single is not None else min(strength, Strength.SUPPORTED),
        Title("shapes-broadcast", values),
        [seen.seen.fact("shapes.compared", **values), *seen.because],
        _remedies(seen, predicted, wanted),
        ends=False,
    )


def _refused(evidence: Evidence) -> Finding | None:
    """Every pair of rows was more than there is memory: the shapes are the reason, and not the memory."""
    on_host, on_gpu = refused_memory(evidence), gpu_refused(evidence)
    quote = on_host or on_gpu
    found = stretched_arrays(evidence) if quote is not None else None
    if quote is None or found is None:
        return None
    values = {"predicted": list(found.column), "wanted": list(found.row), "rows": math.prod(found.column)}
    return Finding(
        Strength.established_if(found.written),
        Title("shapes-broadcast.refused", values),
        [found.fact, *quote.facts],
        [Remedy("arrays.same-shape", {"column": found.names[0]})],
        led_to="device-memory-exhausted" if on_gpu else "memory-refused",
    )


def _of_several(evidence: Evidence) -> Compared | None:
    """Of several differences that a loss of the user's own is made of, one that compares every row with every other:
    a loss that weighs or bends one difference computes it more than once."""
    for one in newest_outputs(evidence):
        shapes = one.event.prediction_shape, one.event.target_shape
        own = one.event.by in ("step", "call") and one.event.loss in _LOSSES and not one.event.own_loss
        if own and all(shape is not None for shape in shapes):
            predicted, wanted = (list(shape or []) for shape in shapes)
            if len(predicted) != len(wanted) and _mixes_the_rows(predicted, wanted):
                return Compared(one, targets(evidence), course(evidence))
    return None


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
    if predicted == wanted or not predicted or not wanted:  # one number is no row
        return False
    pairs = list(zip(reversed(predicted), reversed(wanted), strict=False))
    return all(one == other or 1 in (one, other) for one, other in pairs)


def _remedies(seen: Compared, predicted: _Shape, wanted: _Shape) -> tuple[Remedy, ...]:
    sequences = len(predicted) > len(wanted) + 1 or seen.output.layer in ("LSTM", "GRU", "SimpleRNN")
    if sequences:
        return (Remedy("output.one-answer-each"),)
    return (Remedy("targets.same-shape", {"units": seen.output.units}),)
