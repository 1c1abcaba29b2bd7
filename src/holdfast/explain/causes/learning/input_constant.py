"""The inputs carry no information: all rows are equal."""

from holdfast.explain.readings.compared import compared, inputs, is_spread
from holdfast.explain.rule import Evidence, Finding, Remedy, Strength, Title, cause

#: Rows of one batch that are equal by no chance, and not because the data is sorted. Chosen.
_FEWEST_ROWS = 16
#: The same of rows without any content: one number in every place. Sorted data has none. Chosen.
_FEWEST_EMPTY = 6


@cause("input-constant", specialises=("loss-not-falling", "too-few-updates", "labels-unrelated"))
def input_constant(evidence: Evidence) -> Finding | None:
    """All inputs of a model, where it has several: a decoder may begin with rows of zeros."""
    seen, given = compared(evidence), inputs(evidence)
    if seen is None or not seen.loss or not given:
        return None
    empty = all(one.event.distinct == 1 for one in given)
    if min(one.event.rows for one in given) < (_FEWEST_EMPTY if empty else _FEWEST_ROWS):
        return None
    if any(one.event.rows_differ is not False for one in given):
        return None
    labels = seen.labels
    if labels is None or labels.rows_differ is not True:
        return None
    first = given[0]
    values = {
        "rows": first.event.rows,
        "low": first.event.min,
        "high": first.event.max,
        "where": first.event.where,
    }
    return Finding(
        Strength.established_if(all(is_spread(one.event) for one in given)),
        Title("input-constant", values),
        [first.fact("inputs.all-equal", **values), *seen.because],
        [Remedy("inputs.look-at-them")],
        ends=False,
    )
