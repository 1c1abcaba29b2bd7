"""The loss is not a number, and why cannot be told."""

from __future__ import annotations

import math

from holdfast.explain.causes.declare import Group, cause
from holdfast.explain.evidence import Evidence
from holdfast.explain.readings.numbers import number_of
from holdfast.explain.readings.numerics import non_finite, steps_before
from holdfast.explain.readings.recorded import Recorded
from holdfast.explain.unconverted import Fact, Finding, Remedy, Strength
from holdfast.explain.words import clipped, number
from holdfast.journal import events as ev


@cause("loss-not-finite", Group.NUMERICS, specialises=("loss-not-falling",), mechanism=True)
def loss_not_finite(evidence: Evidence) -> Finding | None:
    broken = non_finite(evidence)
    if broken is None:
        return _from_epochs(evidence)
    event = broken.event
    if event.what == "weights":
        return _broken_weights(broken, _remedies(evidence))
    facts = [
        Fact(
            f"the {event.what} {event.name if event.name != event.what else ''} became {event.value} at step "
            f"{event.step:,}".replace("  ", " ")
            + (f"; it was {number(event.last_finite)} before" if event.last_finite is not None else ""),
            broken.source,
        )
    ]
    values = steps_before(broken)
    if values:
        facts.append(
            Fact(f"the losses before: {', '.join(number(value) for value in values[-5:])}", broken.source)
        )
    if event.step == 1 and not values:
        fresh = "it was the first step: what a fresh model predicts has no finite loss, as log(0) or 0/0 have none"
        facts.append(Fact(fresh, broken.source))
    looked = [
        ("the weights were finite before that step", event.weights_finite_before is True),
        ("the inputs were finite", event.input_finite is True),
    ]
    facts += [Fact(text, broken.source) for text, known in looked if known]
    return Finding(
        "loss-not-finite",
        Strength.SUPPORTED,
        f"the {event.what} is {event.value} since step {event.step:,}",
        tuple(facts),
        (Fact("not found: growth before it, inputs that are not finite, bad boxes, float16"),),
        _remedies(evidence),
        ends=False,
    )


def _broken_weights(broken: Recorded[ev.NonFiniteSeen], remedies: tuple[Remedy, ...]) -> Finding:
    event = broken.event
    name = event.name or "a weight"
    found = "found after" if event.detail.get("seen") == "later" else "since"
    facts = [Fact(f"{name} holds values that are not finite, {found} step {event.step:,}", broken.source)]
    if event.last_finite is not None:
        shown = f"the loss still showed {number(event.last_finite)}: a ReLU makes 0 of NaN, and hides it"
        facts.append(Fact(shown, broken.source))
    return Finding(
        "loss-not-finite",
        Strength.SUPPORTED,
        f"the weights are not finite ({name}), {found} step {event.step:,}: nothing is learnt any more",
        tuple(facts),
        (Fact("not found: inputs that are not finite, bad boxes, float16"),),
        remedies,
        ends=False,
    )


def _from_epochs(evidence: Evidence) -> Finding | None:
    for said in evidence.fit.epochs if evidence.fit is not None else ():
        loss = number_of(said.event.logs.get("loss"))
        if loss is not None and not math.isfinite(loss):
            return Finding(
                "loss-not-finite",
                Strength.SUPPORTED,
                f"the loss is {loss} since epoch {said.event.epoch + 1}",
                (Fact(f"epoch {said.event.epoch + 1} ended with a loss of {loss}", said.source),),
                (Fact("at which step it broke, and on what, was not seen"),),
                _remedies(evidence),
                ends=False,
            )
    printed = evidence.output.last(r"\bloss: (nan|-?inf)\b")
    if printed is not None and not evidence.all(ev.EpochDone):
        return Finding(
            "loss-not-finite",
            Strength.SUPPORTED,
            "the loss that it prints is not a number",
            (Fact(clipped(printed.text, 120), printed.source),),
            (Fact("nothing was seen from inside the process"),),
            _remedies(evidence),
            ends=False,
        )
    return None


def _remedies(evidence: Evidence) -> tuple[Remedy, ...]:
    return (_CHECK.get(evidence.backend, _CHECK["tensorflow"]), _LEARN_NOTHING)


_CHECK = {
    "tensorflow": Remedy(
        "make TensorFlow stop at the first operation that is not finite, which names it",
        "your-choice",
        "tf.debugging.enable_check_numerics()",
    ),
    "jax": Remedy(
        "make JAX stop at the first operation that is not finite, which names it",
        "your-choice",
        'jax.config.update("jax_debug_nans", True)',
    ),
    "torch": Remedy(
        "make PyTorch stop at the first gradient that is not finite, which names its operation",
        "your-choice",
        "torch.autograd.set_detect_anomaly(True)",
    ),
}
_LEARN_NOTHING = Remedy(
    "train a few steps with learning rate 0: if it breaks at the same sample, it is the data", "guess"
)
