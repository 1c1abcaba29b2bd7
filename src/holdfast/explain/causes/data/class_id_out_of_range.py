"""A class id is not among those the model predicts."""

from __future__ import annotations

import math
import re
from typing import NamedTuple

from holdfast.explain.readings.error import ErrorText, Quote, user_line
from holdfast.explain.readings.numbers import number_of
from holdfast.explain.readings.numerics import became_non_finite, non_finite
from holdfast.explain.rule import Evidence, Fact, Finding, Recorded, Remedy, Strength, Title, cause, ev

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
    source: str

    @property
    def fact(self) -> Fact:
        return Fact("targets.range", {"low": self.low, "high": self.high}, self.source)


@cause("class-id-out-of-range", specialises=("script-error", "loss-not-finite"))
def class_id_out_of_range(evidence: Evidence) -> Finding | None:
    if (quote := _TENSORFLOW.match(evidence)) is not None:
        return _raised(evidence, quote, int(quote.match[1]), int(quote.match[2]))
    if (quote := _TORCH.match(evidence)) is not None:
        class_id = quote.match[1]
        return _raised(evidence, quote, int(class_id) if class_id else None, _outputs(evidence))
    return _not_raised(evidence) or _negative_loss(evidence)


def _raised(evidence: Evidence, quote: Quote, class_id: int | None, classes: int | None) -> Finding:
    return Finding(
        Strength.ESTABLISHED,
        Title("class-id-out-of-range", {"class_id": class_id, "classes": classes}),
        because=[quote.fact, *user_line(evidence)],
        remedies=_remedies(classes, class_id),
    )


def _not_raised(evidence: Evidence) -> Finding | None:
    """A GPU gives NaN where the CPU raises, and JAX a loss of 0."""
    broken, model, targets, classes = (
        non_finite(evidence),
        evidence.model,
        _targets(evidence),
        _outputs(evidence),
    )
    if model is None or "sparse" not in model.event.loss or "ignore_class" in model.event.loss:
        return None
    if broken is None and not _ignored_by_jax(evidence, model):
        return None
    if classes is None or targets is None or targets.high < classes:
        return None
    silent = Fact("class-id.ignored-by-jax") if broken is None else Fact("class-id.nan-on-gpu")
    return Finding(
        Strength.ESTABLISHED,
        Title("class-id-out-of-range.outputs", {"class_id": int(targets.high), "classes": classes}),
        because=[
            targets.fact,
            Fact("model.output-shape", {"shape": list(model.event.output_shape)}, model.source),
            *([became_non_finite(broken)] if broken is not None else []),
            silent,
        ],
        remedies=_remedies(classes, int(targets.high)),
        led_to="loss-not-finite" if broken is not None else None,
        ends=False,
    )


def _negative_loss(evidence: Evidence) -> Finding | None:
    """Binary crossentropy is never negative for targets from 0 to 1, and has no lower bound for others."""
    model, targets = evidence.model, _targets(evidence)
    if model is None or not _BINARY.fullmatch(model.event.loss):
        return None
    negative = next((one for one in evidence.losses if math.isfinite(one[1]) and one[1] < _NEGATIVE), None)
    if negative is None:
        return None
    ranges = [targets.fact] if targets is not None and targets.low is not None else []
    if targets is not None and targets.low is not None and targets.low >= 0 and targets.high <= 1:
        return None  # a loss on logits, or a metric of the user's by this name
    step, loss, source = negative
    return Finding(
        Strength.ESTABLISHED if ranges else Strength.SUPPORTED,
        Title("class-id-out-of-range.binary-loss", ranges[0].values if ranges else {}),
        because=[Fact("loss.negative", {"loss": loss, "step": step}, source), *ranges],
        remedies=[Remedy("loss.one-output-a-class"), Remedy("targets.zero-and-one")],
        ends=False,
    )


def _remedies(classes: int | None, class_id: int | None) -> tuple[Remedy, Remedy]:
    values = {
        "last": classes - 1 if classes else None,
        "off_by_one": classes is not None and class_id == classes,
    }
    return Remedy("class-ids.map", values), Remedy("class-ids.check", safety="automatic")


def _outputs(evidence: Evidence) -> int | None:
    shape = evidence.model.event.output_shape if evidence.model is not None else None
    last = shape[-1] if isinstance(shape, list | tuple) and shape else None
    return last if isinstance(last, int) else None


def _targets(evidence: Evidence) -> _Targets | None:
    data = evidence.data()
    values = data.event.statistics.get("y") if data is not None else None
    if data is None or not isinstance(values, dict):
        return None
    low, high = number_of(values.get("min")), number_of(values.get("max"))
    return _Targets(low, high, data.source) if high is not None else None


def _ignored_by_jax(evidence: Evidence, model: Recorded[ev.ModelSeen]) -> bool:
    """Keras's own loss of one output, and targets without a sample weight that could mask them."""
    data = evidence.data()
    spec = data.event.element_spec if data is not None else None
    named = _SPARSE.fullmatch(model.event.loss) is not None
    return evidence.backend == "jax" and named and isinstance(spec, list) and len(spec) == 2
