"""The loss is not a number, and the cause is not known."""

from __future__ import annotations

import math

from holdfast.explain.causes.numerics.thresholds import QUOTED_LOSSES
from holdfast.explain.finding import Values
from holdfast.explain.readings.numbers import number_of
from holdfast.explain.readings.numerics import became_non_finite, non_finite, steps_before
from holdfast.explain.rule import Evidence, Fact, Finding, Recorded, Remedy, Strength, Title, cause, ev


@cause("loss-not-finite", specialises=("loss-not-falling",), mechanism=True)
def loss_not_finite(evidence: Evidence) -> Finding | None:
    broken = non_finite(evidence)
    if broken is None:
        return _from_epochs(evidence) or _printed(evidence)
    if broken.event.what == "weights":
        return _broken_weights(evidence, broken)
    event, losses = broken.event, steps_before(broken)
    facts = [became_non_finite(broken)]
    if losses:
        facts.append(Fact("loss.before", {"losses": losses[-QUOTED_LOSSES + 1 :]}, broken.source))
    elif event.step == 1:
        facts.append(Fact("loss.broken-at-first-step", {}, broken.source))
    if event.weights_finite_before is True:
        facts.append(Fact("weights.finite-before", {}, broken.source))
    if event.input_finite is True:
        facts.append(Fact("input.finite", {}, broken.source))
    values = {"what": event.what, "value": event.value, "step": event.step}
    return _finding(
        evidence, Title("loss-not-finite", values), facts, Fact("loss-not-finite.not-found", {}, "")
    )


def _broken_weights(evidence: Evidence, broken: Recorded[ev.NonFiniteSeen]) -> Finding:
    event = broken.event
    values: Values = {"name": event.name, "step": event.step, "later": event.detail.get("seen") == "later"}
    facts = [Fact("weights.not-finite", values, broken.source)]
    if event.last_finite is not None:
        facts.append(Fact("loss.hides-nan", {"loss": event.last_finite}, broken.source))
    against = Fact("loss-not-finite.weights-not-found", {}, "")
    return _finding(evidence, Title("loss-not-finite.weights", values), facts, against)


def _from_epochs(evidence: Evidence) -> Finding | None:
    for epoch in evidence.fit.epochs if evidence.fit is not None else ():
        loss = number_of(epoch.event.logs.get("loss"))
        if loss is not None and not math.isfinite(loss):
            values: Values = {"value": str(loss), "epoch": epoch.event.epoch + 1}
            facts = [Fact("epoch.loss-not-finite", values, epoch.source)]
            against = Fact("loss-not-finite.step-not-seen", {}, "")
            return _finding(evidence, Title("loss-not-finite.epoch", values), facts, against)
    return None


def _printed(evidence: Evidence) -> Finding | None:
    line = evidence.output.last(r"\bloss: (nan|-?inf)\b")
    if line is None or evidence.all(ev.EpochDone):
        return None
    facts = [Fact("output.line", {"text": line.text}, line.source)]
    return _finding(evidence, Title("loss-not-finite.printed", {}), facts, Fact("probe.saw-nothing", {}, ""))


def _finding(evidence: Evidence, title: Title, facts: list[Fact], against: Fact) -> Finding:
    remedies = (
        Remedy("nan.find-operation", {"backend": evidence.backend}),
        Remedy("nan.try-rate-zero", {}, "guess"),
    )
    return Finding(Strength.SUPPORTED, title, facts, remedies, against=[against], ends=False)
