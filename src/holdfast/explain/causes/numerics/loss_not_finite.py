"""The loss is not a number, and the cause is not known."""

import math
import re
from dataclasses import replace

from holdfast.explain.causes.numerics.thresholds import QUOTED_LOSSES
from holdfast.explain.readings.error import ErrorText
from holdfast.explain.readings.files import never_improved
from holdfast.explain.readings.numbers import number_of
from holdfast.explain.readings.numerics import (
    became_non_finite,
    non_finite,
    passed_over,
    steps_before,
    stopped_itself,
    weights_finite_before,
)
from holdfast.explain.rule import Evidence, Fact, Finding, Recorded, Remedy, Strength, Title, cause, ev, facts

#: What the frameworks' own checks raise: jax_debug_nans, torch's anomaly detection, tf.debugging.
_CHECKS = ErrorText(
    r"FloatingPointError: invalid value|returned nan values in its \d+\w* output|Tensor had (?:NaN|Inf)\b|"
    r"contains (?:NaN|Inf|non-finite) values?\b.*CheckNumerics"
)


@cause("loss-not-finite", specialises=("loss-not-falling", "script-error"), mechanism=True)
def loss_not_finite(evidence: Evidence) -> Finding | None:
    broken = non_finite(evidence)
    if passed_over(evidence):
        return None
    if broken is None:
        return _refused(evidence) or _from_epochs(evidence) or _printed(evidence)
    if broken.event.what == "weights":
        return _broken_weights(evidence, broken)
    event, losses = broken.event, steps_before(broken)
    seen = facts(
        became_non_finite(broken),
        bool(losses) and broken.fact("loss.before", losses=losses[-QUOTED_LOSSES + 1 :]),
        not losses and event.step == 1 and broken.fact("loss.broken-at-first-step"),
        weights_finite_before(broken),
        event.input_finite is True and broken.fact("input.finite"),
    )
    title = Title("loss-not-finite", {"what": event.what, "value": event.value, "step": event.step})
    return _finding(evidence, title, seen, Fact("loss-not-finite.not-found"))


def _refused(evidence: Evidence) -> Finding | None:
    """A check that the script switched on stopped it at the first value that is not finite."""
    quote = _CHECKS.match(evidence)
    if quote is None or evidence.error is None:
        return None
    operation = re.search(r"encountered in (\w+)|Function '(\w+)'", quote.text)
    name = next(filter(None, operation.groups()), "") if operation is not None else ""
    found = _finding(evidence, Title("loss-not-finite.checked", {"operation": name}), [*quote.facts],
                     Fact("loss-not-finite.not-found"))  # fmt: skip
    return replace(found, ends=True)


def _broken_weights(evidence: Evidence, broken: Recorded[ev.NonFiniteSeen]) -> Finding:
    event, last = broken.event, broken.event.last_finite
    values = {"name": event.name, "step": event.step, "later": event.detail.get("seen") == "later"}
    seen = facts(
        broken.fact("weights.not-finite", **values),
        last is not None and broken.fact("loss.hides-nan", loss=last),
    )
    against = Fact("loss-not-finite.weights-not-found")
    return _finding(evidence, Title("loss-not-finite.weights", values), seen, against)


def _from_epochs(evidence: Evidence) -> Finding | None:
    for epoch in evidence.fit.epochs if evidence.fit is not None else ():
        loss = number_of(epoch.event.logs.get("loss"))
        if loss is not None and not math.isfinite(loss):
            values = {"value": str(loss), "epoch": epoch.event.epoch + 1}
            seen, against = (
                [epoch.fact("epoch.loss-not-finite", **values)],
                Fact("loss-not-finite.step-not-seen"),
            )
            return _finding(evidence, Title("loss-not-finite.epoch", values), seen, against)
    return None


def _printed(evidence: Evidence) -> Finding | None:
    line = evidence.output.last(r"\bloss: (nan|-?inf)\b")
    if line is None or evidence.all(ev.EpochDone):
        return None
    seen = [Fact("output.line", {"text": line.text}, line.source)]
    return _finding(evidence, Title("loss-not-finite.printed"), seen, Fact("probe.saw-nothing"))


def _finding(evidence: Evidence, title: Title, seen: list[Fact], against: Fact) -> Finding:
    find = Remedy("nan.find-operation", {"backend": evidence.backend})
    remedies = (find, Remedy("nan.try-rate-zero", safety="guess"))
    noticed = "stopped-on-nan" if stopped_itself(evidence) else None
    if noticed is None and never_improved(evidence):
        noticed = "path-missing"
    return Finding(Strength.SUPPORTED, title, seen, remedies, against=[against], led_to=noticed, ends=False)
