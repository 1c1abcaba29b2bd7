"""Inputs are in another range than the model was made for."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from holdfast.explain.causes.declare import Group, cause
from holdfast.explain.evidence import Evidence
from holdfast.explain.finding import Title
from holdfast.explain.readings.numbers import median, number_of
from holdfast.explain.readings.numerics import non_finite
from holdfast.explain.unconverted import Fact, Finding, Remedy, Strength, outlier
from holdfast.explain.words import number
from holdfast.journal import events as ev


@cause(
    "input-scale-mismatch",
    Group.DATA,
    specialises=(
        "loss-not-finite",
        "loss-not-falling",
    ),
)
def input_scale_mismatch(evidence: Evidence) -> Finding | None:
    far = outlier(evidence)
    if far is not None:
        return _one_batch(evidence, far)
    model, reach = evidence.model, _range(evidence)
    if model is None or reach is None or reach.top < 32:
        return None
    kinds = model.event.layer_kinds
    scaled = any(
        name in kinds
        for name in (
            "Rescaling",
            "Normalization",
            "BatchNormalization",
            "LayerNormalization",
            "GroupNormalization",
            "Lambda",
            "Embedding",
            "TrueDivide",
            "Multiply",
            "CastToFloat32",
            "SyncBatchNormalization",
        )
    )
    convolutional = any("Conv" in name for name in kinds) or any("Dense" in name for name in kinds)
    if scaled or not convolutional:
        return None
    first, last = _loss_course(evidence)
    broken = non_finite(evidence)
    flat = first is not None and last is not None and math.isfinite(last) and last > 0.9 * first
    if not (flat or broken is not None):
        return None
    facts = [
        Fact(reach.words, reach.source),
        Fact("the model has no layer that scales or normalises", model.source),
    ]
    if broken is not None:
        facts.append(
            Fact(
                f"the {broken.event.what} became {broken.event.value} at step {broken.event.step:,}",
                broken.source,
            )
        )
    elif first is not None and last is not None:
        facts.append(Fact(f"the loss went from {number(first)} to {number(last)}", "journal.jsonl"))
    half = broken is not None and "float16" in broken.event.precision.replace("bfloat16", "")
    return Finding(
        "input-scale-mismatch",
        Strength.SUPPORTED if (reach.pixels or reach.top >= _FAR) and not half else Strength.POSSIBLE,
        f"inputs go up to {number(reach.top)}, and the model has nothing that scales them",
        tuple(facts),
        (Fact("it computes in float16, which may break whatever their scale"),) if half else (),
        (
            Remedy(
                "scale in the model, where it cannot be forgotten",
                "your-choice",
                "keras.layers.Rescaling(1 / 255)"
                if reach.pixels
                else "keras.layers.Normalization()   # and adapt(x)",
            ),
            Remedy("with weights of others, use their own preprocess_input", "your-choice"),
        ),
        ends=False,
    )


def _one_batch(evidence: Evidence, far: Fact) -> Finding:
    """One value far beyond the others, at which the loss jumped."""
    broken = non_finite(evidence)
    facts = [far]
    if broken is not None:
        facts.append(
            Fact(
                f"the {broken.event.what} became {broken.event.value} at step {broken.event.step:,}",
                broken.source,
            )
        )
    losses = [abs(loss) for _, loss, _ in evidence.losses if math.isfinite(loss)]
    spoilt = broken is not None or (len(losses) > 5 and median(losses[-3:]) > 100 * median(losses[:-3]))
    return Finding(
        "input-scale-mismatch",
        Strength.SUPPORTED if spoilt else Strength.POSSIBLE,
        Title("input-scale-mismatch.outlier", far.values),
        tuple(facts),
        (),
        (
            Remedy("look at that sample, and leave it out or mend it", "your-choice"),
            Remedy(
                "clip what the model is given, and its gradients",
                "your-choice",
                "x = np.clip(x, -10, 10); optimizer = keras.optimizers.SGD(1e-2, clipnorm=1.0)",
            ),
        ),
        ends=False,
    )


#: A column of a table may well reach 100 and be learnt; at a thousand a fresh network is lost.
_FAR = 1000.0


@dataclass(frozen=True, slots=True)
class Reach:
    """The range of the inputs."""

    top: float
    bottom: float
    picture: bool
    source: str

    @property
    def pixels(self) -> bool:
        """No picture has negative values before it is scaled."""
        return self.bottom >= 0 and (self.picture or 128 <= self.top <= 256)

    @property
    def words(self) -> str:
        if self.pixels:
            return f"inputs go up to {number(self.top)}, as pixels do that were not scaled"
        return f"inputs reach from {number(self.bottom)} to {number(self.top)}; a fresh network expects about -1 to 1"


def _range(evidence: Evidence) -> Reach | None:
    data = evidence.data()
    for name, values in data.event.statistics.items() if data is not None else ():
        if name.startswith("x") and isinstance(values, dict) and values.get("max") is not None:
            shape = _input_shape(data.event.element_spec) if data is not None else []
            return _reach(values, len(shape) >= 3, data.source if data is not None else "")
    for said in evidence.all(ev.BatchSeen):
        for part in said.event.parts:
            shape = part.get("shape") or []
            if part.get("max") is not None and len(shape) >= 3:
                return _reach(part, True, said.source)
        if said.event.parts and said.event.parts[0].get("max") is not None:
            return _reach(said.event.parts[0], False, said.source)
    return None


def _input_shape(spec: Any) -> list[Any]:
    return spec[0][0] or [] if isinstance(spec, list) and spec and spec[0] else []


def _reach(values: dict[str, Any], picture: bool, source: str) -> Reach | None:
    top, bottom = number_of(values["max"]), number_of(values.get("min"))
    return None if top is None else Reach(top, bottom if bottom is not None else 0.0, picture, source)


def _loss_course(evidence: Evidence) -> tuple[float | None, float | None]:
    epochs = [number_of(said.event.logs.get("loss")) for said in evidence.all(ev.EpochDone)]
    known = [loss for loss in epochs if loss is not None]
    if len(known) >= 3 and known[0] > 100 * abs(known[1]):  # it exploded at first, and lies flat ever since
        return known[1], known[-1]
    if len(known) >= 2:
        return known[0], known[-1]
    finite = [loss for _, loss, _ in evidence.losses if math.isfinite(loss)]
    if len(finite) <= 10:
        return None, None
    exploded = [at for at, loss in enumerate(finite) if loss > 100 * abs(finite[-1])]
    since = finite[exploded[-1] + 1 :] if exploded else []
    return (median(since[:5]), median(since[-5:])) if len(since) > 10 else (finite[0], finite[-1])
