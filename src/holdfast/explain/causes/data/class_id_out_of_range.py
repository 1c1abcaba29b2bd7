"""A class id is not among those the model predicts."""

import math
import re
from typing import NamedTuple

from holdfast.explain.readings.course import targets as targets_seen
from holdfast.explain.readings.course import weighted
from holdfast.explain.readings.error import ErrorText, Quote, user_line
from holdfast.explain.readings.files import array_fact
from holdfast.explain.readings.numbers import number_of
from holdfast.explain.readings.numerics import became_non_finite, non_finite
from holdfast.explain.rule import Evidence, Fact, Finding, Recorded, Remedy, Strength, Title, cause, ev, facts

_TENSORFLOW = ErrorText(
    r"[Rr]eceived a label value of (-?\d+) which is outside the valid range of \[0, (\d+)\)"
)
_TORCH = ErrorText(r"\bTarget (-?\d+) is out of bounds|`t >= 0 && t < n_classes` failed")
#: A row is looked up in a table: an embedding, a gather, a row for each class.
_LOOKUP = ErrorText(
    r"indices\[?[\d, ]*\]? = (-?\d+) is not in \[0, (\d+)\)|index out of range in self|"
    r"index (-?\d+) is out of bounds for axis \d+ with size (\d+)|"
    r"index (-?\d+) is out of bounds for dimension \d+ with size (\d+)|"
    r"Class values must be (?:smaller than|non-negative)|`srcIndex < srcSelectDimSize` failed"
)
_TABLE = re.compile(
    r"[Ee]mbedding|gather|to_categorical|one_hot|lookup|np\.eye\(|numpy\.eye\(|index_select|take_along|\btake\b"
)
_SPARSE = re.compile(r"sparse_categorical_crossentropy|SparseCategoricalCrossentropy")
_BINARY = re.compile(r"binary_?crossentropy", re.IGNORECASE)
#: A loss below it is negative, and not 0 that was rounded. Chosen: far more than the rounding of float32.
_NEGATIVE = -1e-3
#: Different ids beyond the outputs that are no mark for pixels or words to be ignored: such a mark is one id.
_NO_MARK = 2
#: Share of the labels that are beyond the outputs, from which no reading of the numbers makes them right.
_MOST = 0.5


class _Targets(NamedTuple):
    low: float | None
    high: float
    fact: Fact


@cause("class-id-out-of-range", specialises=("script-error", "loss-not-finite"))
def class_id_out_of_range(evidence: Evidence) -> Finding | None:
    if (quote := _TENSORFLOW.match(evidence)) is not None:
        return _raised(evidence, quote, int(quote.match[1]), int(quote.match[2]))
    if (quote := _TORCH.match(evidence)) is not None:
        class_id = quote.match[1]
        return _raised(evidence, quote, int(class_id) if class_id else None, _outputs(evidence))
    return (
        _looked_up(evidence)
        or _in_a_jitted_step(evidence)
        or _labels_beyond(evidence)
        or _not_raised(evidence)
        or _negative_loss(evidence)
    )


def _raised(evidence: Evidence, quote: Quote, class_id: int | None, classes: int | None) -> Finding:
    title = Title("class-id-out-of-range", {"class_id": class_id, "classes": classes})
    because = facts(quote.fact, user_line(evidence))
    return Finding(Strength.ESTABLISHED, title, because, _remedies(classes, class_id))


def _looked_up(evidence: Evidence) -> Finding | None:
    """An index beyond the end of a table; of a list or an array that the script indexes itself it is no class."""
    quote, error = _LOOKUP.match(evidence), evidence.error
    if quote is None or error is None:
        return None
    if not _TABLE.search(" ".join([error.text, error.user_code, *error.frames[-8:]])):
        return None
    numbers = [int(one) for one in quote.match.groups() if one is not None]
    index, size = (numbers[0], numbers[1]) if len(numbers) == 2 else (None, None)
    reaching = array_fact(evidence, size) if size is not None and (index or 0) >= 0 else None
    return Finding(
        Strength.ESTABLISHED,
        Title("class-id-out-of-range.lookup", {"index": index, "size": size}),
        facts(quote.fact, user_line(evidence), reaching),
        (
            Remedy("class-ids.table", {"off_by_one": size is not None and index == size}),
            *_remedies(size, index),
        ),
    )


def _in_a_jitted_step(evidence: Evidence) -> Finding | None:
    """JAX raises for no index. An id that is to be ignored is far away, or one alone; ids that begin at 1 and end one
    beyond the last are counted from 1, and an index that gives NaN is blamed for the NaN that came with it."""
    seen = evidence.last(ev.IndexOutOfRange)
    if seen is None:
        return None
    event, broken = seen.event, non_finite(evidence)
    first = evidence.first(ev.IndexOutOfRange) or seen
    gave_nan = broken is not None and event.how == "fill" and first.event.step <= broken.event.step
    at_once = gave_nan and broken is not None and broken.event.step == first.event.step
    of_labels = event.label and event.beyond >= _NO_MARK
    if not gave_nan and not of_labels and not (event.low == 1 and event.high == event.size):
        return None
    values = ev.payload(event)
    return Finding(
        Strength.established_if(at_once and broken is not None and broken.event.what == "loss"),
        Title("class-id-out-of-range.jax", values),
        facts(
            seen.fact("index.beyond-the-end", **values),
            became_non_finite(broken) if gave_nan else seen.fact("index.not-raised-by-jax", **values),
        ),
        (
            *([Remedy("class-ids.table", {"off_by_one": event.high == event.size})] if event.table else ()),
            *_remedies(event.size, event.high),
        ),
        led_to="loss-not-finite" if gave_nan else None,
        ends=False,
    )


def _labels_beyond(evidence: Evidence) -> Finding | None:
    """Labels of a compiled loss on JAX: several ids beyond the outputs, or ids counted from 1."""
    model = evidence.model
    if evidence.backend != "jax" or model is None or "ignore_class" in model.event.loss or weighted(evidence):
        return None
    for output in evidence.all(ev.OutputSeen):
        one, labels = output.event, _labels_of(evidence, output.event)
        if one.by != "compile" or not _SPARSE.fullmatch(one.loss) or one.own_loss or labels is None:
            continue
        low, high, units = labels.event.min, labels.event.max, one.units
        if low is None or high is None or units is None or units < 2 or not _beyond(labels.event, units):
            continue
        values = {"class_id": int(high), "classes": units}
        listed = labels.event.classes
        missed = sum(count for name, count in listed.items() if int(name) >= units)
        return Finding(
            Strength.established_if(missed > _MOST * max(1, sum(listed.values()))),
            Title("class-id-out-of-range.outputs", values),
            facts(
                labels.fact("targets.range", low=low, high=high),
                output.fact("model.output-shape", shape=list(one.prediction_shape or [None, units])),
                Fact("class-id.ignored-by-jax"),
            ),
            _remedies(units, int(high)),
            ends=False,
        )
    return None


def _labels_of(evidence: Evidence, output: ev.OutputSeen) -> Recorded[ev.ValuesSeen] | None:
    seen = [one for one in evidence.all(ev.ValuesSeen) if one.event.role == "target"]
    same = [one for one in seen if one.event.fit == output.fit and one.event.name == output.output]
    return same[-1] if same and same[-1].event.whole_numbers else None


def _beyond(labels: ev.ValuesSeen, units: int) -> bool:
    """Counted from 1, or at least two ids that no output is for: of so many different ones not all fit in."""
    low, high = int(labels.min or 0), int(labels.max or 0)
    if high < units:
        return False
    listed = sum(int(name) >= units for name in labels.classes)
    within = max(0, units - max(low, 0)) + (low < 0)
    return (low == 1 and high == units) or max(listed, (labels.distinct or 0) - within) >= _NO_MARK


def _not_raised(evidence: Evidence) -> Finding | None:
    """A GPU gives NaN where the CPU raises, and JAX a loss of 0."""
    broken, model = non_finite(evidence), evidence.model
    targets, classes = _targets(evidence), _outputs(evidence)
    if model is None or "sparse" not in model.event.loss or "ignore_class" in model.event.loss:
        return None
    if broken is None and (targets_seen(evidence) or not _ignored_by_jax(evidence, model.event.loss)):
        return None  # where single labels were read, they have decided
    if classes is None or targets is None or targets.high < classes:
        return None
    return Finding(
        Strength.ESTABLISHED,
        Title("class-id-out-of-range.outputs", {"class_id": int(targets.high), "classes": classes}),
        facts(
            targets.fact,
            model.fact("model.output-shape", shape=list(model.event.output_shape)),
            became_non_finite(broken),
            Fact("class-id.ignored-by-jax") if broken is None else Fact("class-id.nan-on-gpu"),
        ),
        _remedies(classes, int(targets.high)),
        led_to="loss-not-finite" if broken is not None else None,
        ends=False,
    )


def _negative_loss(evidence: Evidence) -> Finding | None:
    """Binary crossentropy is never negative for targets from 0 to 1, and has no lower bound for others."""
    losses = ((step, loss, source) for step, loss, source in evidence.losses if math.isfinite(loss))
    negative = next((one for one in losses if one[1] < _NEGATIVE), None)
    if negative is None or not _BINARY.fullmatch(evidence.seen(ev.ModelSeen).loss):
        return None
    targets = _targets(evidence)
    known = targets if targets is not None and targets.low is not None else None
    if known is not None and (known.low or 0) >= 0 and known.high <= 1:
        return None  # a loss on logits, or a metric of the user's by this name
    step, loss, source = negative
    return Finding(
        Strength.established_if(known is not None),
        Title("class-id-out-of-range.binary-loss", known.fact.values if known is not None else {}),
        facts(Fact("loss.negative", {"loss": loss, "step": step}, source), known is not None and known.fact),
        (Remedy("loss.one-output-a-class"), Remedy("targets.zero-and-one")),
        ends=False,
    )


def _remedies(classes: int | None, class_id: int | None) -> tuple[Remedy, Remedy]:
    off_by_one = classes is not None and class_id == classes
    values = {"last": classes - 1 if classes else None, "off_by_one": off_by_one}
    return Remedy("class-ids.map", values), Remedy("class-ids.check", safety="automatic")


def _outputs(evidence: Evidence) -> int | None:
    shape = evidence.seen(ev.ModelSeen).output_shape
    last = shape[-1] if isinstance(shape, list | tuple) and shape else None
    return last if isinstance(last, int) else None


def _targets(evidence: Evidence) -> _Targets | None:
    data, values = evidence.data(), evidence.dataset().statistics.get("y")
    if data is None or not isinstance(values, dict):
        return None
    low, high = number_of(values.get("min")), number_of(values.get("max"))
    return _Targets(low, high, data.fact("targets.range", low=low, high=high)) if high is not None else None


def _ignored_by_jax(evidence: Evidence, loss: str) -> bool:
    """Keras's own loss of one output, and targets without a sample weight that could mask them."""
    spec = evidence.dataset().element_spec
    two_parts = isinstance(spec, list) and len(spec) == 2
    return evidence.backend == "jax" and _SPARSE.fullmatch(loss) is not None and two_parts
