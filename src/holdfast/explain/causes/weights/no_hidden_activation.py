"""Layers follow one another without a non-linearity between them: together they are one linear layer."""

import math

from holdfast.explain.causes.weights import thresholds
from holdfast.explain.readings.course import course
from holdfast.explain.readings.weights import WEIGHTED, layers
from holdfast.explain.rule import Evidence, Fact, Finding, Remedy, Strength, Title, cause, ev, facts
from holdfast.journal.events.event import Json

#: Layers that leave a weighted sum a weighted sum.
_LINEAR = (
    "Flatten", "Reshape", "Permute", "Dropout", "SpatialDropout1D", "SpatialDropout2D", "BatchNormalization",
    "InputLayer", "AveragePooling1D", "AveragePooling2D", "GlobalAveragePooling1D", "GlobalAveragePooling2D",
    "ZeroPadding2D", "UpSampling2D", "Normalization", "Rescaling", "GaussianNoise",
)  # fmt: skip
#: Weighted layers in a row that nobody stacks without wanting more than a linear model, which has stopped improving
#: with this share of the loss of a constant answer. Chosen.
_DEEP, _HALF_WAY = 3, 0.5
_NO_ACTIVATION = ("", "linear", None)


@cause("no-hidden-activation", specialises=("loss-not-falling",))
def no_hidden_activation(evidence: Evidence) -> Finding | None:
    training, chain = course(evidence), layers(evidence)
    linear = _linear_chain(chain)
    if training is None or len(linear) < 2:
        return None
    stuck = len(linear) >= _DEEP and training.stuck_above(_HALF_WAY)
    if training.learned is True and not stuck:
        return None
    # Where another layer bends the signal, a pair in a row may be meant: a bottleneck, a projection.
    whole = all(_is_linear(one) for one in chain[:-1])
    seen = evidence.last(ev.LayersSeen)
    source = seen.source if seen is not None else "journal.jsonl"
    values = {
        "layers": [one.get("name") for one in linear],
        "count": len(linear),
        "where": linear[0].get("where"),
    }
    # A linear model can give the constant answer: what keeps the loss far above that is something else.
    beyond = training.constant is not None and training.last > thresholds.ABOVE_CONSTANT * training.constant
    # A loss that broke says nothing of what such a model could have learned.
    broke = not math.isfinite(training.last) or bool(evidence.all(ev.NonFiniteSeen))
    certain = whole and (training.learned is False or stuck) and not beyond and not broke
    return Finding(
        Strength.SUPPORTED if certain else Strength.POSSIBLE,
        Title("no-hidden-activation", values),
        facts(
            Fact("layers.linear", values, source),
            training.fact,
            training.accuracy_fact,
        ),
        [Remedy("layer.add-activation", {"units": linear[0].get("units")})],
        led_to="loss-not-falling",
        ends=False,
    )


def _linear_chain(chain: list[Json]) -> list[Json]:
    """The longest run of weighted layers with only linear layers between them; the last one may end in anything."""
    longest: list[Json] = []
    run: list[Json] = []
    for before, one in zip([{}, *chain], chain, strict=False):
        if before.get("name") not in one.get("after", [before.get("name")]):
            run = []  # a branch of its own
        if one.get("kind") in WEIGHTED:
            run.append(one)
            longest = max(longest, list(run), key=len)
        if not _is_linear(one):
            run = []
    return longest


def _is_linear(one: Json) -> bool:
    return one.get("kind") in (*WEIGHTED, *_LINEAR) and one.get("activation") in _NO_ACTIVATION
