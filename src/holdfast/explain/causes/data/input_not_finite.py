"""The data holds NaN or infinity."""

from __future__ import annotations

from holdfast.explain.readings.error import ErrorText
from holdfast.explain.readings.numerics import became_non_finite, non_finite
from holdfast.explain.rule import Evidence, Fact, Finding, Recorded, Remedy, Strength, Title, cause, ev

_RAISED = ErrorText(r"[Ii]nput.*(contains|has) (NaN|inf)|Tensor had (NaN|Inf)|CheckNumerics")
_OF_THE_DATA = ("input", "target")


@cause("input-not-finite", specialises=("script-error", "loss-not-finite", "loss-not-falling"))
def input_not_finite(evidence: Evidence) -> Finding | None:
    broken, seen = non_finite(evidence), _seen(evidence)
    found = [*seen, *_in_batch(evidence), *_in_arrays(evidence)]
    if not found or (broken is None and not seen and _RAISED.match(evidence) is None):
        return None
    if broken is not None:
        found += [became_non_finite(broken), *_hidden(broken)]
    return Finding(
        Strength.ESTABLISHED,
        Title("input-not-finite"),
        because=found,
        remedies=[Remedy("data.check-numerics"), Remedy("data.replace-non-finite")],
        led_to="loss-not-finite" if broken is not None else None,
        ends=False,
    )


def _hidden(broken: Recorded[ev.NonFiniteSeen]) -> list[Fact]:
    """A ReLU turns NaN into 0: the weights broke, and the loss stayed a number."""
    later = broken.event.what == "weights" and broken.event.detail.get("seen") == "later"
    return [Fact("loss.hides-nan", {"loss": broken.event.last_finite}, broken.source)] if later else []


def _seen(evidence: Evidence) -> list[Fact]:
    """What the probe saw at a step."""
    for seen in evidence.all(ev.NonFiniteSeen):
        event = seen.event
        if event.what not in _OF_THE_DATA and event.input_finite is not False:
            continue
        what = event.what if event.what in _OF_THE_DATA else ""
        values = {"what": what, "name": event.name if what else "", "step": event.step}
        facts = [Fact("data.not-finite", values, seen.source)]
        if event.weights_finite_before or event.weights_finite:
            facts.append(Fact("weights.finite-before", {}, seen.source))
        return facts
    return []


def _in_batch(evidence: Evidence) -> list[Fact]:
    """The first batch that is not finite: the one that broke, or one of the data read once more after the end."""
    for seen in evidence.all(ev.BatchSeen):
        for part in seen.event.parts:
            if part.get("finite") is not False:
                continue
            later = part.get("found") == "afterwards"
            values = {
                "name": str(part.get("path", "it")),
                "step": seen.event.step,
                "row": part.get("row"),
                "sample": part.get("sample") if later else None,
                "value": str(part.get("value", "")),
                "read_again": later,
            }
            return [Fact("batch.not-finite", values, seen.source)]
    return []


def _in_arrays(evidence: Evidence) -> list[Fact]:
    data = evidence.data()
    statistics = data.event.statistics.items() if data is not None else ()
    names = [name for name, one in statistics if isinstance(one, dict) and one.get("finite") is False]
    if data is None or not names:
        return []
    return [Fact("arrays.not-finite", {"names": names}, data.source)]
