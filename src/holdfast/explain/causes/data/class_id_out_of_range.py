"""A class id is not among those the model predicts."""

import math
import re
from typing import NamedTuple

from holdfast.explain.readings.error import ErrorText, Quote, user_line
from holdfast.explain.readings.numbers import number_of
from holdfast.explain.readings.numerics import became_non_finite, non_finite
from holdfast.explain.rule import Evidence, Fact, Finding, Remedy, Strength, Title, cause, ev, facts

_TENSORFLOW = ErrorText(
    r"[Rr]eceived a label value of (-?\d+) which is outside the valid range of \[0, (\d+)\)"
)
_TORCH = ErrorText(r"\bTarget (-?\d+) is out of bounds|`t >= 0 && t < n_classes` failed")
_SPARSE = re.compile(r"sparse_categorical_crossentropy|SparseCategoricalCrossentropy")
_BINARY = re.compile(r"binary_?crossentropy", re.IGNORECASE)
#: A loss below it is negative, and not 0 that was rounded. Chosen: far more than the rounding of float32.
_NEGATIVE = -1e-3


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
    return _not_raised(evidence) or _negative_loss(evidence)


def _raised(evidence: Evidence, quote: Quote, class_id: int | None, classes: int | None) -> Finding:
    title = Title("class-id-out-of-range", {"class_id": class_id, "classes": classes})
    because = facts(quote.fact, user_line(evidence))
    return Finding(Strength.ESTABLISHED, title, because, _remedies(classes, class_id))


def _not_raised(evidence: Evidence) -> Finding | None:
    """A GPU gives NaN where the CPU raises, and JAX a loss of 0."""
    broken, model = non_finite(evidence), evidence.model
    targets, classes = _targets(evidence), _outputs(evidence)
    if model is None or "sparse" not in model.event.loss or "ignore_class" in model.event.loss:
        return None
    if broken is None and not _ignored_by_jax(evidence, model.event.loss):
        return None
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
