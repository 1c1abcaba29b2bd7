"""The data holds NaN or infinity."""

from holdfast.explain.readings.error import ErrorText
from holdfast.explain.readings.numerics import became_non_finite, made_by_a_function, non_finite, passed_over
from holdfast.explain.rule import Evidence, Fact, Finding, Recorded, Remedy, Strength, Title, cause, ev, facts

_RAISED = ErrorText(r"[Ii]nput.*(contains|has) (NaN|inf)|Tensor had (NaN|Inf)|CheckNumerics")
_OF_BOXES = (4, 5)
_OF_THE_DATA = ("input", "target")


@cause("input-not-finite", specialises=("script-error", "loss-not-finite", "loss-not-falling"))
def input_not_finite(evidence: Evidence) -> Finding | None:
    broken, seen = non_finite(evidence), _seen(evidence)
    found = facts(seen, _in_batch(evidence), _in_arrays(evidence))
    if passed_over(evidence):
        return None
    if not found or (broken is None and not seen and _RAISED.match(evidence) is None):
        return None
    made = made_by_a_function(evidence)
    known = made is not None or not _may_be_box_arithmetic(evidence)
    return Finding(
        Strength.established_if(known),
        Title("input-not-finite.made" if made is not None else "input-not-finite"),
        facts(found, made, became_non_finite(broken), broken and _hidden(broken)),
        (Remedy("data.check-numerics"), Remedy("data.replace-non-finite")),
        led_to="loss-not-finite" if broken else None,
        ends=False,
    )


def _may_be_box_arithmetic(evidence: Evidence) -> bool:
    """Some columns of four or five, in a batch that a function has made: the logarithm of a width below 0, or a gap in
    the data. Of arrays that a fit was given themselves the numbers are what is stored."""
    parts = [part for seen in evidence.all(ev.BatchSeen) for part in seen.event.parts]
    broken = [part for part in parts if part.get("finite") is False]
    if any(part.get("found") == "stored" for part in broken):
        return False
    shapes = [
        (part.get("shape") or [0], part.get("columns") or []) for part in broken if "sample" not in part
    ]
    return bool(shapes) and all(
        shape[-1] in _OF_BOXES and 0 < len(columns) < shape[-1] for shape, columns in shapes
    )


def _hidden(broken: Recorded[ev.NonFiniteSeen]) -> Fact | None:
    """A ReLU turns NaN into 0: the weights broke, and the loss stayed a number."""
    later = broken.event.what == "weights" and broken.event.detail.get("seen") == "later"
    return broken.fact("loss.hides-nan", loss=broken.event.last_finite) if later else None


def _seen(evidence: Evidence) -> list[Fact]:
    """What the probe saw at a step."""
    for seen in evidence.all(ev.NonFiniteSeen):
        event = seen.event
        if event.what not in _OF_THE_DATA and event.input_finite is not False:
            continue
        what = event.what if event.what in _OF_THE_DATA else ""
        finite = bool(event.weights_finite_before or event.weights_finite)
        return facts(
            seen.fact("data.not-finite", what=what, name=event.name if what else "", step=event.step),
            finite and seen.fact("weights.finite-before"),
        )
    return []


def _in_batch(evidence: Evidence) -> Fact | None:
    """The first batch that is not finite: the one that broke, or one of the data read once more after the end."""
    parts = ((seen, part) for seen in evidence.all(ev.BatchSeen) for part in seen.event.parts)
    for seen, part in parts:
        if part.get("finite") is False and part.get("found") != "stored":
            later = part.get("found") == "afterwards"
            return seen.fact(
                "batch.not-finite",
                name=str(part.get("path", "it")),
                step=seen.event.step,
                row=part.get("row"),
                sample=part.get("sample") if later else None,
                value=str(part.get("value", "")),
                read_again=later,
            )
    return None


def _in_arrays(evidence: Evidence) -> Fact | None:
    data, statistics = evidence.data(), evidence.dataset().statistics.items()
    names = [name for name, one in statistics if isinstance(one, dict) and one.get("finite") is False]
    return data.fact("arrays.not-finite", names=names) if data and names else None
