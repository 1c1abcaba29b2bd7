"""What the look at a trained model shows: layers, gradients by depth, and how far the weights moved."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from holdfast.explain.readings.course import Course, course
from holdfast.explain.readings.numbers import median, number_of
from holdfast.explain.readings.recorded import Recorded
from holdfast.explain.validations import finds_objects
from holdfast.journal import events as ev

if TYPE_CHECKING:
    from holdfast.explain.evidence import Evidence
    from holdfast.journal.events.event import Json

#: Layers with weights whose output is a weighted sum, and nothing more without an activation.
WEIGHTED = (
    "Dense", "Conv1D", "Conv2D", "Conv3D", "Conv1DTranspose", "Conv2DTranspose", "DepthwiseConv2D", "SeparableConv2D",
    "EinsumDense",
)  # fmt: skip
RECURRENT = ("LSTM", "GRU", "SimpleRNN", "Bidirectional", "RNN", "ConvLSTM2D")
NORMALISING = ("BatchNormalization", "SyncBatchNormalization")
#: Share of its first size that is left of every kernel, where nothing but a decay leads; and the kernels that show it.
#: Chosen.
_NOTHING_LEFT, _FEWEST_KERNELS = 1e-2, 2


def looked_at(evidence: Evidence) -> Recorded[ev.LayersMeasured] | None:
    """The newest look that measured something, of the last fit that looked ill; not one at the answers alone."""
    looks = evidence.all(ev.LayersMeasured)
    seen = [one for one in looks if one.event.activations and one.event.reason != "places"]
    if not seen or seen[-1].event.fit != _fit_number(evidence):
        return None
    return seen[-1]


def not_learned(evidence: Evidence) -> Course | None:
    """The course of a training that has learned nothing, or of which that is open. What finds objects has learned, if
    only before this run: fine-tuning at a tiny rate hardly moves weights."""
    if finds_objects(evidence):
        return None
    found = course(evidence)
    return found if found is not None and found.learned is not True else None


def constant_answers(evidence: Evidence) -> Recorded[ev.ValuesSeen] | None:
    """Predictions of the last fit that are the same for every row."""
    seen = [one for one in evidence.all(ev.ValuesSeen) if one.event.role == "prediction"]
    newest = [one for one in seen if one.event.fit == _fit_number(evidence)]
    same = [one for one in newest if one.event.rows_differ is False]
    return newest[-1] if newest and len(same) == len(newest) else None


def kernels(look: ev.LayersMeasured) -> list[Json]:
    """Gradients of kernels, from the input to the output, each with its size against the weights."""
    found = []
    for one in look.gradients:
        norm, weights = number_of(one.get("norm")), number_of(one.get("weight_norm"))
        if str(one.get("name", "")).endswith("kernel") and norm is not None and weights:
            found.append({**one, "norm": norm, "relative": norm / weights})
    return found


def gradient_norms(look: ev.LayersMeasured, layer: str) -> list[float]:
    """Of the variables of a layer."""
    own = [number_of(one.get("norm")) for one in look.gradients if one.get("layer") == layer]
    return [norm for norm in own if norm is not None]


def moved(evidence: Evidence, since: str) -> list[Recorded[ev.WeightsMoved]]:
    """Of the last fit, oldest first; of the loop, where there is no fit."""
    seen = [one for one in evidence.all(ev.WeightsMoved) if one.event.since == since]
    return [one for one in seen if one.event.fit == _fit_number(evidence)]


def _fit_number(evidence: Evidence) -> int | None:
    """None for a loop without a fit, whose events have none either."""
    return evidence.fit.number if evidence.fit is not None else None


def update_ratio(event: ev.WeightsMoved) -> float | None:
    """Size of the change against the size of the weights: the middle one of all kernels that began with values."""
    ratios = [
        one["change"] / one["rms_before"]
        for one in event.variables
        if is_kernel(one) and one.get("rms_before") and not one.get("constant_before")
    ]
    return median(ratios) if ratios else None


def pressed_to_nothing(evidence: Evidence) -> float | None:
    """What is left of the kernel that shrank least, against its first size; None where not all of them vanished."""
    seen = moved(evidence, "start")
    kernels = [one for one in seen[-1].event.variables if is_kernel(one)] if seen else []
    left = [one["rms"] / one["rms_before"] for one in kernels if one.get("rms_before")]
    return max(left) if len(left) >= _FEWEST_KERNELS and max(left) <= _NOTHING_LEFT else None


def is_kernel(variable: dict[str, Any]) -> bool:
    """By its name in Keras; a variable of a loop has another name, or none, and more than one axis."""
    name = str(variable.get("name", ""))
    named = name.endswith(("kernel", "embeddings"))
    return (named or (not name.endswith("bias") and "equal_units" in variable)) and int(
        variable.get("size") or 0
    ) > 1


def fresh(evidence: Evidence) -> bool:
    """The model began with random weights, and no earlier fit has trained it."""
    if evidence.last(ev.Restored) is not None:
        return False
    return evidence.fit is None or not evidence.fit.start.iterations


def layers(evidence: Evidence) -> list[Json]:
    """In their order, by what was recorded of the model, else by the look."""
    seen = evidence.last(ev.LayersSeen)
    if seen is not None and seen.event.layers and len(seen.event.layers) == seen.event.layers_in_all:
        return list(seen.event.layers)
    look = looked_at(evidence)
    return list(look.event.activations) if look is not None else []


def highest_rate(evidence: Evidence) -> float | None:
    """The largest learning rate of the last fit's epochs, of its steps, or as it was compiled."""
    epochs = evidence.fit.epochs if evidence.fit is not None else ()
    rates = [one.event.learning_rate for one in epochs]
    rates += [one.event.learning_rate for one in evidence.all(ev.LossSeen)]
    known = [rate for rate in rates if rate is not None]
    return max(known) if known else evidence.seen(ev.ModelSeen).learning_rate
