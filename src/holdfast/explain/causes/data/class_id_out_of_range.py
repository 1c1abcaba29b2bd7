"""A class id is not among those the model predicts."""

from __future__ import annotations

import math
import re

from holdfast.explain.causes.declare import Group, cause
from holdfast.explain.evidence import Evidence
from holdfast.explain.readings.numbers import number_of
from holdfast.explain.readings.numerics import non_finite
from holdfast.explain.unconverted import Fact, Finding, Remedy, Strength, matched, users_line
from holdfast.explain.words import number


@cause(
    "class-id-out-of-range",
    Group.DATA,
    specialises=(
        "script-error",
        "loss-not-finite",
    ),
)
def class_id_out_of_range(evidence: Evidence) -> Finding | None:
    said = matched(
        evidence, r"[Rr]eceived a label value of (-?\d+) which is outside the valid range of \[0, (\d+)\)"
    )
    if said is not None:
        value, classes = said[0][1], int(said[0][2])
        off = " Class ids begin at 0." if value == str(classes) else ""
        return Finding(
            "class-id-out-of-range",
            Strength.ESTABLISHED,
            f"class id {value} among {classes} classes: valid are 0 to {classes - 1}",
            (said[1], *users_line(evidence)),
            (),
            (
                Remedy(
                    f"map the ids of the data to 0 … {classes - 1}, or give the model more outputs.{off}",
                    "your-choice",
                ),
                Remedy("name the records: `holdfast check DATA` lists unknown classes and gaps", "automatic"),
            ),
        )
    return _told_by_torch(evidence) or _on_a_device(evidence) or _of_a_binary_loss(evidence)


def _told_by_torch(evidence: Evidence) -> Finding | None:
    said = matched(evidence, r"\bTarget (-?\d+) is out of bounds|`t >= 0 && t < n_classes` failed")
    if said is None:
        return None
    shape = evidence.model.event.output_shape if evidence.model is not None else None
    last = shape[-1] if isinstance(shape, list | tuple) and shape else None
    among = f" among {last} classes: valid are 0 to {last - 1}" if isinstance(last, int) else ""
    which = f"class id {said[0][1]}" if said[0][1] else "a class id"
    return Finding(
        "class-id-out-of-range",
        Strength.ESTABLISHED,
        which + (among or " is not among those that the model predicts"),
        (said[1], *users_line(evidence)),
        (),
        (
            Remedy("map the ids of the data to 0 and up, or give the model more outputs", "your-choice"),
            Remedy("name the records: `holdfast check DATA` lists unknown classes and gaps", "automatic"),
        ),
    )


def _of_a_binary_loss(evidence: Evidence) -> Finding | None:
    """Binary crossentropy is never negative for targets from 0 to 1, and has no lower end for others."""
    model, data = evidence.model, evidence.data()
    negative = next((one for one in evidence.losses if math.isfinite(one[1]) and one[1] < -1e-3), None)
    binary = model is not None and re.fullmatch(r"binary_?crossentropy", model.event.loss, re.IGNORECASE)
    if negative is None or not binary:
        return None
    labels = data.event.statistics.get("y", {}) if data is not None else {}
    low, top = (number_of(labels.get(name)) if isinstance(labels, dict) else None for name in ("min", "max"))
    known = low is not None and top is not None
    if known and low >= 0 and top <= 1:  # type: ignore[operator]
        return None  # from_logits left out, or an own metric by this name
    reach = f" (they reach from {number(low)} to {number(top)})" if known else ""
    facts = [Fact(f"the loss is {number(negative[1])} at step {negative[0]:,}; with targets in 0 … 1 it cannot be "
                  "below 0", negative[2])]  # fmt: skip
    if known and data is not None:
        facts.append(Fact(f"the targets reach from {number(low)} to {number(top)}", data.source))
    return Finding(
        "class-id-out-of-range",
        Strength.ESTABLISHED if known else Strength.SUPPORTED,
        f"targets of the binary loss are not between 0 and 1{reach}: it falls for ever and means nothing",
        tuple(facts),
        (),
        (
            Remedy(
                "for several classes: one output each and a loss for class ids",
                "your-choice",
                'keras.layers.Dense(classes, activation="softmax")\n'
                'model.compile(…, "sparse_categorical_crossentropy")',
            ),
            Remedy("for two classes: targets of 0 and 1", "your-choice", "y = (y > 0).astype('float32')"),
        ),
        ends=False,
    )


def _on_a_device(evidence: Evidence) -> Finding | None:
    """A GPU gives NaN where the CPU raises."""
    broken, model, data = non_finite(evidence), evidence.model, evidence.data()
    if model is None or data is None or "sparse" not in model.event.loss:
        return None
    if "ignore_class" in model.event.loss or (broken is None and not _unweighted_on_jax(evidence)):
        return None
    shape = model.event.output_shape
    classes = shape[-1] if isinstance(shape, list | tuple) and shape and isinstance(shape[-1], int) else None
    labels = data.event.statistics.get("y", {})
    top = number_of(labels.get("max")) if isinstance(labels, dict) else None
    if classes is None or top is None or top < classes:
        return None
    return Finding(
        "class-id-out-of-range",
        Strength.ESTABLISHED,
        f"class ids go up to {top:.0f}, and the model has {classes} outputs",
        (
            Fact(f"the targets' largest value is {top:.0f}", data.source),
            Fact(f"the model's output is {shape}", model.source),
            Fact(
                f"the loss became {broken.event.value} at step {broken.event.step:,}; a GPU gives NaN where a "
                "CPU raises",
                broken.source,
            )
            if broken is not None
            else Fact("on JAX such a sample raises nothing: it has a loss of 0 and teaches nothing"),
        ),
        (),
        (Remedy(f"map the ids to 0 … {classes - 1}, or give the model more outputs", "your-choice"),),
        led_to="loss-not-finite" if broken is not None else None,
        ends=False,
    )


def _unweighted_on_jax(evidence: Evidence) -> bool:
    """Keras's own loss of one output, and targets that no sample weight can mask. JAX says nothing then."""
    model, data = evidence.model, evidence.data()
    spec = data.event.element_spec if data is not None else None
    named = model is not None and re.fullmatch(
        r"sparse_categorical_crossentropy|SparseCategoricalCrossentropy", model.event.loss
    )
    return evidence.backend == "jax" and bool(named) and isinstance(spec, list) and len(spec) == 2
