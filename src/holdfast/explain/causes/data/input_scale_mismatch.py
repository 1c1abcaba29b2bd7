"""The inputs are far larger than the model expects, and nothing scales them."""

import math
from typing import Any, NamedTuple

from holdfast.explain.readings.compared import inputs as inputs_seen
from holdfast.explain.readings.course import course
from holdfast.explain.readings.numbers import median, number_of
from holdfast.explain.readings.numerics import became_non_finite, non_finite, outlier
from holdfast.explain.readings.weights import looked_at
from holdfast.explain.rule import Evidence, Fact, Finding, Recorded, Remedy, Strength, Title, cause, ev, facts

_SCALING_LAYERS = frozenset(
    {"Rescaling", "Normalization", "BatchNormalization", "LayerNormalization", "GroupNormalization", "Lambda",
     "Embedding", "TrueDivide", "Multiply", "CastToFloat32", "SyncBatchNormalization"}
)  # fmt: skip
#: Inputs below it are learnt without scaling: standardised data, small counts. Chosen: between those and pixels.
_LARGE_INPUT = 32.0
#: A column of a table may well reach 100 and be learnt; at a thousand a fresh network is lost. Chosen.
_FAR = 1000.0
#: Of the columns of a table: the largest standard deviation, and how often it is that of the smallest. Chosen: a sum
#: over them then depends on the largest alone.
_LARGE_COLUMN, _TIMES_APART = 100.0, 1000.0
#: Share of the units of the first activation that give the same limit for every row: hardly any input passes. And the
#: steps by which a network has left what it began with. Chosen.
_ALL_STUCK, _STEPS_AT_LIMITS = 0.95, 50
#: The largest value of 8-bit pixels that were not scaled; a dark image still reaches the lower end.
_PIXELS_FROM, _PIXELS_TO = 128.0, 256.0
_IMAGE_DIMENSIONS = 3
#: A last loss above this share of the first is flat. Chosen: what learns falls further within two epochs.
_FLAT_SHARE = 0.9
#: A loss so many times a later one exploded, and is not the beginning of an ordinary fall. Chosen.
_EXPLODED = 100.0
_EPOCHS_AFTER_EXPLOSION = 3  # the exploded one, and two that show a course
_LOSSES_NEEDED = 10  # losses of single steps that show a course
_LOSSES_AVERAGED = 5  # whose median is its beginning, and its end
#: After one far value: the last losses, and how many there must be.
_LAST_LOSSES, _LOSSES_AROUND_OUTLIER = 3, 5


class _Range(NamedTuple):
    """Of the inputs."""

    low: float
    high: float
    image: bool
    source: str
    single: bool = False  # one value for each example
    whole: bool = False  # of an integer type

    @property
    def pixels(self) -> bool:
        """No image has negative values before it is scaled, and none has one pixel."""
        like_pixels = not self.single and _PIXELS_FROM <= self.high <= _PIXELS_TO
        return self.low >= 0 and (self.image or like_pixels)

    def may_be_index(self, model: ev.ModelSeen) -> bool:
        """Looked up and not multiplied, for all that is seen of a model with a `call` of its own."""
        return self.single and self.whole and model.input_shape is None

    @property
    def fact(self) -> Fact:
        return Fact("inputs.range", {"low": self.low, "high": self.high, "pixels": self.pixels}, self.source)


@cause("input-scale-mismatch", specialises=("loss-not-finite", "loss-not-falling", "saturated-units"))
def input_scale_mismatch(evidence: Evidence) -> Finding | None:
    broken, far = non_finite(evidence), outlier(evidence)
    if far is not None:
        return _one_value(evidence, far, broken)
    model, inputs = evidence.model, _range(evidence)
    columns = _columns(evidence)
    saturated = _saturates(evidence)
    if saturated is not None:
        return saturated
    if columns is not None and (inputs is None or not inputs.pixels):
        return columns
    if model is None or inputs is None or inputs.high < _LARGE_INPUT:
        return None
    kinds = set(model.event.layer_kinds)
    if _SCALING_LAYERS & kinds or not any("Conv" in kind or "Dense" in kind for kind in kinds):
        return None
    course = became_non_finite(broken) or _flat_loss(evidence)
    if course is None:
        return None
    half = _computes_in_half(broken)
    blamed = (inputs.pixels or inputs.high >= _FAR) and half is None and not inputs.may_be_index(model.event)
    return Finding(
        Strength.SUPPORTED if blamed else Strength.POSSIBLE,
        Title("input-scale-mismatch", {"high": inputs.high}),
        (inputs.fact, model.fact("model.does-not-scale"), course),
        (Remedy("model.scale-inputs", {"pixels": inputs.pixels}), Remedy("model.use-its-preprocessing")),
        against=facts(half),
        ends=False,
    )


def _columns(evidence: Evidence) -> Finding | None:
    """Columns of a table whose scales differ by orders of magnitude: the largest drowns the others."""
    model, went = evidence.model, course(evidence)
    tables = [one for one in inputs_seen(evidence) if len(one.event.shape) == 1 and one.event.column_scales]
    if went is None or went.learned is not False or not tables:
        return None
    if model is not None and _SCALING_LAYERS & set(model.event.layer_kinds):
        return None
    table = max(tables, key=lambda one: one.event.column_scales[-1])
    smallest, _, largest = table.event.column_scales
    if largest < _LARGE_COLUMN or largest < _TIMES_APART * smallest:
        return None
    values = {
        "smallest": smallest,
        "largest": largest,
        "columns": table.event.columns,
        "where": table.event.where,
    }
    return Finding(
        Strength.SUPPORTED,
        Title("input-scale-mismatch.columns", values),
        facts(
            table.fact("inputs.column-scales", **values),
            model is not None and model.fact("model.does-not-scale"),
            went.fact,
        ),
        (Remedy("inputs.standardise"), Remedy("model.normalise-inputs")),
        ends=False,
    )


def _saturates(evidence: Evidence) -> Finding | None:
    """The first activation is at its limits for every row: nothing of the inputs passes, whatever the loss does."""
    look, given = looked_at(evidence), [one for one in inputs_seen(evidence) if one.event.max is not None]
    bounded = [one for one in look.event.activations if "stuck" in one] if look is not None else []
    if look is None or not given or not bounded or bounded[0] is not look.event.activations[0]:
        return None
    high = max(max(abs(one.event.min or 0.0), abs(one.event.max or 0.0)) for one in given)
    stuck = number_of(bounded[0].get("stuck")) or 0.0
    if high < _FAR or stuck < _ALL_STUCK or look.event.step < _STEPS_AT_LIMITS:
        return None
    values = {"high": high, "share": stuck, "layer": bounded[0].get("name"), "rows": look.event.rows,
              "activation": bounded[0].get("activation"), "step": look.event.step}  # fmt: skip
    return Finding(
        Strength.SUPPORTED,
        Title("input-scale-mismatch.saturates", values),
        (
            given[0].fact("inputs.range", low=given[0].event.min, high=given[0].event.max, pixels=False),
            look.fact("units.at-limits-for-every-row", **values),
        ),
        (Remedy("inputs.standardise"), Remedy("model.normalise-inputs")),
        led_to="saturated-units",
        ends=False,
    )


def _one_value(evidence: Evidence, far: Fact, broken: Recorded[ev.NonFiniteSeen] | None) -> Finding:
    """One value far beyond the others, at which the loss jumped."""
    losses = [abs(loss) for _, loss, _ in evidence.losses if math.isfinite(loss)]
    last, before = losses[-_LAST_LOSSES:], losses[:-_LAST_LOSSES]
    stays_high = len(losses) > _LOSSES_AROUND_OUTLIER and median(last) > _EXPLODED * median(before)
    return Finding(
        Strength.SUPPORTED if broken or stays_high else Strength.POSSIBLE,
        Title("input-scale-mismatch.outlier", far.values),
        facts(far, became_non_finite(broken)),
        (Remedy("sample.remove-or-repair"), Remedy("inputs.clip")),
        ends=False,
    )


def _computes_in_half(broken: Recorded[ev.NonFiniteSeen] | None) -> Fact | None:
    """In float16, which may overflow whatever the scale of the inputs is."""
    if broken is None or "float16" not in broken.event.precision.replace("bfloat16", ""):
        return None
    return broken.fact("precision.float16", precision=broken.event.precision)


def _range(evidence: Evidence) -> _Range | None:
    data = evidence.data()
    for name, values in evidence.dataset().statistics.items():
        if data and name.startswith("x") and isinstance(values, dict) and values.get("max") is not None:
            spec = data.event.element_spec
            shape = spec[0][0] or [] if isinstance(spec, list) and spec and spec[0] else []
            found = _read_range(values, len(shape) >= _IMAGE_DIMENSIONS, data.source)
            dtype = spec[0][1] if shape else ""
            single, whole = len(shape) == 1 or shape[1:] == [1], str(dtype).startswith(("int", "uint"))
            return found and found._replace(single=single, whole=whole)
    for batch in evidence.all(ev.BatchSeen):
        parts = [part for part in batch.event.parts if part.get("max") is not None]
        images = [part for part in parts if len(part.get("shape") or []) >= _IMAGE_DIMENSIONS]
        if images:
            return _read_range(images[0], True, batch.source)
        if parts and parts[0] is batch.event.parts[0]:
            return _read_range(parts[0], False, batch.source)
    return None


def _read_range(values: dict[str, Any], image: bool, source: str) -> _Range | None:
    low, high = number_of(values.get("min")), number_of(values["max"])
    return None if high is None else _Range(low if low is not None else 0.0, high, image, source)


def _flat_loss(evidence: Evidence) -> Fact | None:
    went = course(evidence)
    if went is not None and went.constant is not None and went.learned is False:
        return went.fact
    first, last = _course(evidence) or (math.inf, math.inf)
    if not math.isfinite(last) or last <= _FLAT_SHARE * first:
        return None
    return Fact("loss.course", {"first": first, "last": last}, "journal.jsonl")


def _course(evidence: Evidence) -> tuple[float, float] | None:
    """The first and the last loss, without an explosion at the beginning."""
    logged = [number_of(epoch.event.logs.get("loss")) for epoch in evidence.all(ev.EpochDone)]
    epochs = [loss for loss in logged if loss is not None]
    if len(epochs) >= _EPOCHS_AFTER_EXPLOSION and epochs[0] > _EXPLODED * abs(epochs[1]):
        return epochs[1], epochs[-1]
    if len(epochs) >= 2:
        return epochs[0], epochs[-1]
    steps = [loss for _, loss, _ in evidence.losses if math.isfinite(loss)]
    if len(steps) <= _LOSSES_NEEDED:
        return None
    exploded = [at for at, loss in enumerate(steps) if loss > _EXPLODED * abs(steps[-1])]
    since = steps[exploded[-1] + 1 :] if exploded else []
    if len(since) > _LOSSES_NEEDED:
        return median(since[:_LOSSES_AVERAGED]), median(since[-_LOSSES_AVERAGED:])
    return steps[0], steps[-1]
