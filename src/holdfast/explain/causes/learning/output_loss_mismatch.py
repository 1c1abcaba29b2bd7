"""The activation of the last layer does not fit the loss."""

from dataclasses import replace

from holdfast.explain.readings.compared import (
    BINARY,
    CATEGORICAL,
    SPARSE,
    Compared,
    compared,
    inputs,
    raised_by_shapes,
)
from holdfast.explain.readings.error import ErrorText
from holdfast.explain.rule import Evidence, Fact, Finding, Remedy, Strength, Title, cause, ev, facts

#: Activations whose values are no probabilities. A categorical cross-entropy divides by their sum, so that positive
#: ones may serve; exponential with that division is a softmax.
_NOT_IN_0_TO_1 = frozenset(
    {
        "linear",
        "relu",
        "tanh",
        "elu",
        "selu",
        "gelu",
        "silu",
        "leaky_relu",
        "softsign",
        "mish",
        "celu",
        "log_softmax",
    }
)
#: What torch says of values that are no probabilities, on a GPU and on the CPU.
_OUTSIDE_0_TO_1 = ErrorText(
    r"`input_val >= zero && input_val <= one` failed|all elements of input should be between 0 and 1"
)
_POSITIVE = frozenset({"softplus", "exponential", "relu6"})
_ADD_UP = ("softmax",)
_CUT = ("relu", "sigmoid", "tanh")


@cause(
    "output-loss-mismatch",
    specialises=(
        "loss-not-falling",
        "too-few-updates",
        "loss-not-finite",
        "framework-warning",
        "script-error",
    ),
)
def output_loss_mismatch(evidence: Evidence) -> Finding | None:
    seen = compared(evidence)
    if seen is None or not seen.output.activation:
        return _refused(evidence) if seen is None else None
    raised = raised_by_shapes(evidence)
    if raised:
        return _softmax_of_ids(seen, raised)
    return (
        _asserted(seen, evidence)
        or _one_unit(seen)
        or _categorical_of_one(seen)
        or _not_probabilities(seen)
        or _softmax_of_softmax(seen)
        or _sigmoid_for_exclusive(seen)
        or _softmax_with_binary(seen)
        or _binary_for_exclusive(seen, evidence)
        or _cut_before(seen, evidence)
    )


def _asserted(seen: Compared, evidence: Evidence) -> Finding | None:
    """torch checks what a binary cross-entropy is given: on a GPU in the kernel, whose assertion comes up at a later
    call. A NaN fails it too; a layer without an activation need not be NaN for it."""
    quote = _OUTSIDE_0_TO_1.match(evidence)
    if quote is None or seen.loss not in BINARY:
        return None
    finding = _not_probabilities(seen)
    if finding is None:
        return None
    return replace(
        finding, strength=Strength.ESTABLISHED, because=[*quote.facts, *finding.because], ends=True
    )


def _refused(evidence: Evidence) -> Finding | None:
    """On the CPU torch refuses the values before there is a loss to look at. At the first step they are raw scores; in
    later ones they may be NaN."""
    quote = _OUTSIDE_0_TO_1.match(evidence)
    if quote is None:
        return None
    return Finding(
        Strength.supported_if(not evidence.step),
        Title("output-loss-mismatch.refused"),
        [*quote.facts],
        [Remedy("loss.with-logits-in-torch")],
    )


def _softmax_of_ids(seen: Compared, raised: list[Fact]) -> Finding | None:
    """Two units and one label, which newer versions refuse to compare."""
    if seen.loss not in BINARY or seen.output.activation != "softmax" or not seen.is_class_id:
        return None
    finding = _finding(
        seen,
        "output-loss-mismatch.softmax-with-binary",
        Remedy("loss.use", {"loss": "sparse_categorical_crossentropy"}),
    )
    return replace(finding, strength=Strength.ESTABLISHED, because=[*raised, *seen.because], ends=True)


def _cut_before(seen: Compared, evidence: Evidence) -> Finding | None:
    """A ReLU between the last weights and the softmax: what is below 0 is lost, and a class may never come back.
    Published networks have it and learn, so only a training that did not is blamed for it."""
    if seen.output.activation not in ("softmax", "sigmoid") or seen.learned is not False:
        return None
    listed = evidence.last(ev.LayersSeen)
    rows = listed.event.layers if listed is not None else []
    names = [row.get("name") for row in rows]
    if seen.output.layer_name not in names:
        return None
    place = names.index(seen.output.layer_name)
    while place > 0 and str(rows[place]["kind"]).startswith("Global"):
        place -= 1
    before = rows[place].get("activation", "")
    own = before == seen.output.activation  # of a dense layer or of a convolution, as the last one has it
    if own or before not in _CUT:
        return None
    remedy = Remedy(
        "output.no-activation", {"layer": rows[place].get("kind"), "units": rows[place].get("units")}
    )
    return _finding(seen, "output-loss-mismatch.cut-before", remedy)


def _one_unit(seen: Compared) -> Finding | None:
    """A softmax over one number is 1, whatever the number is."""
    if seen.output.activation not in _ADD_UP or seen.output.units != 1:
        return None
    if seen.labels is not None and seen.labels.distinct == 1:
        return None
    remedy = Remedy("output.sigmoid-for-two", {"layer": seen.output.layer})
    linear = Remedy("output.linear-for-numbers", {"units": 1})
    continuous = seen.labels is not None and not seen.labels.whole_numbers
    return _finding(
        seen, "output-loss-mismatch.one-unit", linear if continuous else remedy, strength=Strength.ESTABLISHED
    )


def _categorical_of_one(seen: Compared) -> Finding | None:
    """A categorical cross-entropy divides by the sum over the units: of one unit that is always 1."""
    if seen.loss not in CATEGORICAL | SPARSE or seen.output.units != 1:
        return None
    remedy = Remedy("loss.binary-for-one-unit")
    return _finding(seen, "output-loss-mismatch.categorical-of-one", remedy, strength=Strength.ESTABLISHED)


def _not_probabilities(seen: Compared) -> Finding | None:
    if seen.loss not in BINARY | CATEGORICAL | SPARSE or seen.output.from_logits is not False:
        return None
    outside = seen.output.activation in _NOT_IN_0_TO_1
    if not outside and not (seen.loss in BINARY and seen.output.activation in _POSITIVE):
        return None
    binary = seen.loss in BINARY
    remedies = (
        Remedy("loss.from-logits", {"loss": _class_of(seen.loss)}),
        Remedy("output.activation", {"layer": seen.output.layer, "units": seen.output.units,
                                     "activation": "sigmoid" if binary else "softmax"}),
    )  # fmt: skip
    linear = seen.output.activation == "linear"
    ordered = remedies if linear else remedies[::-1]
    return _finding(seen, "output-loss-mismatch.not-probabilities", *ordered)


def _softmax_of_softmax(seen: Compared) -> Finding | None:
    """The loss takes probabilities for logits. Where it reads the logits behind them, its value is right."""
    applied = seen.output.activation in ("softmax", "sigmoid")
    if not applied or seen.output.from_logits is not True or seen.output.reads_behind:
        return None
    remedy = Remedy("loss.from-probabilities", {"loss": _class_of(seen.loss)})
    no_activation = Remedy("output.no-activation", {"layer": seen.output.layer, "units": seen.output.units})
    return _finding(seen, "output-loss-mismatch.twice", remedy, no_activation)


def _sigmoid_for_exclusive(seen: Compared) -> Finding | None:
    """The classes exclude each other, and the units do not know of each other."""
    units, labels = seen.output.units, seen.labels
    if seen.loss not in CATEGORICAL | SPARSE or seen.output.activation not in ("sigmoid", "hard_sigmoid"):
        return None
    exclusive = seen.loss in SPARSE or (labels is not None and labels.one_hot)
    if not exclusive or units is None or units < 2:
        return None
    behind = seen.output.reads_behind and seen.seen.fact("loss.reads-logits-behind", activation="sigmoid")
    remedy = Remedy(
        "output.activation", {"layer": seen.output.layer, "units": units, "activation": "softmax"}
    )
    # Nothing divides by the sum: all units at 1 is the best answer, and the loss goes to 0 without an answer.
    strength = Strength.SUPPORTED if seen.output.written_out else None
    return _finding(
        seen,
        "output-loss-mismatch.sigmoid-for-exclusive",
        remedy,
        strength=strength,
        against=facts(behind or None),
    )


def _softmax_with_binary(seen: Compared) -> Finding | None:
    """A binary cross-entropy asks each unit by itself; a softmax makes them depend on each other."""
    if seen.loss not in BINARY or seen.output.activation != "softmax" or seen.output.from_logits:
        return None
    if (seen.output.units or 0) < 2 or seen.learned is not False:
        return None
    one_hot = seen.labels is not None and seen.labels.one_hot
    loss = "categorical_crossentropy" if one_hot else "sparse_categorical_crossentropy"
    return _finding(seen, "output-loss-mismatch.softmax-with-binary", Remedy("loss.use", {"loss": loss}))


def _binary_for_exclusive(seen: Compared, evidence: Evidence) -> Finding | None:
    """Works more often than not: blamed only where nothing was learned. Of an autoencoder the inputs are such rows."""
    labels = seen.labels
    if seen.loss not in BINARY or seen.output.activation != "sigmoid" or labels is None or not labels.one_hot:
        return None
    copied = any(one.event.shape == labels.shape for one in inputs(evidence))
    if copied or seen.learned is not False:
        return None
    remedy = Remedy(
        "output.softmax-and-categorical", {"layer": seen.output.layer, "units": seen.output.units}
    )
    return _finding(seen, "output-loss-mismatch.binary-for-exclusive", remedy)


def _class_of(loss: str) -> str:
    return "".join(part.capitalize() for part in loss.split("_"))


def _finding(
    seen: Compared,
    kind: str,
    *remedies: Remedy,
    strength: Strength | None = None,
    against: list[Fact] | None = None,
) -> Finding:
    first = remedies[0]
    values = {"layer": seen.layer, "units": seen.output.units, "activation": seen.output.activation,
              "loss": seen.output.loss, "where": seen.output.where}  # fmt: skip
    return Finding(
        strength if strength is not None else seen.strength,
        Title(kind, values),
        seen.because,
        (first, *remedies[1:]),
        against=against or (),
        ends=False,
    )
