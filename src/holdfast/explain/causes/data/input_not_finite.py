"""The data itself holds NaN or infinity."""

from __future__ import annotations

from typing import Any

from holdfast.explain.causes.declare import Group, cause
from holdfast.explain.evidence import Evidence
from holdfast.explain.readings.numerics import non_finite
from holdfast.explain.readings.recorded import Recorded
from holdfast.explain.unconverted import Fact, Finding, Remedy, Strength, matched
from holdfast.explain.words import listed, number
from holdfast.journal import events as ev


@cause(
    "input-not-finite",
    Group.DATA,
    specialises=(
        "script-error",
        "loss-not-finite",
        "loss-not-falling",
    ),
)
def input_not_finite(evidence: Evidence) -> Finding | None:
    broken = non_finite(evidence)
    bad = next(
        (
            said
            for said in evidence.all(ev.NonFiniteSeen)
            if said.event.what in ("input", "target") or said.event.input_finite is False
        ),
        None,
    )
    batch = next(
        (
            (said, part)
            for said in evidence.all(ev.BatchSeen)
            for part in said.event.parts
            if part.get("finite") is False
        ),
        None,
    )
    data = evidence.data()
    arrays = [
        name
        for name, values in (data.event.statistics if data is not None else {}).items()
        if isinstance(values, dict) and values.get("finite") is False
    ]
    raised = matched(evidence, r"[Ii]nput.*(contains|has) (NaN|inf)|Tensor had (NaN|Inf)|CheckNumerics")
    if (bad is None and batch is None and not arrays) or (broken is None and bad is None and raised is None):
        return None
    facts: list[Fact] = []
    if bad is not None:
        facts.append(Fact(_seen(bad.event), bad.source))
        if bad.event.weights_finite_before or bad.event.weights_finite:
            facts.append(Fact("the weights were still finite before that step", bad.source))
    if batch is not None:
        facts.append(Fact(_place(*batch), batch[0].source))
    if arrays and data is not None:
        facts.append(
            Fact(f"the array {listed(arrays)} given to fit has values that are not finite", data.source)
        )
    if broken is not None:
        facts.append(Fact(_broke(broken.event), broken.source))
    return Finding(
        "input-not-finite",
        Strength.ESTABLISHED,
        "the data holds NaN or infinity",
        tuple(facts),
        (),
        (
            Remedy(
                "stop at the first bad element, which names it",
                "your-choice",
                'ds = ds.map(lambda x, y: (tf.debugging.check_numerics(x, "x"), y))',
            ),
            Remedy(
                "replace what is not finite, if that is right for your data",
                "your-choice",
                "x = np.nan_to_num(x)",
            ),
        ),
        led_to="loss-not-finite" if broken is not None else None,
        ends=False,
    )


def _seen(event: ev.NonFiniteSeen) -> str:
    if event.what in ("input", "target"):
        return f"the {event.what} {event.name} is not finite at step {event.step:,}".replace("  ", " ")
    return f"what feeds the training holds values that are not finite (looked through at step {event.step:,})"


def _broke(event: ev.NonFiniteSeen) -> str:
    if event.what != "weights":
        return f"the {event.what} became {event.value} at step {event.step:,}"
    late = event.detail.get("seen") == "later"
    hidden = (
        f", though the loss still showed {number(event.last_finite)}: a ReLU makes 0 of NaN" if late else ""
    )
    return (
        f"the weights ({event.name}) were not finite {'after' if late else 'at'} step {event.step:,}{hidden}"
    )


def _place(said: Recorded[ev.BatchSeen], part: dict[str, Any]) -> str:
    where = f"{part.get('path', 'it')}"
    if part.get("found") != "afterwards":
        row = f", sample {part['row']}" if "row" in part else ""
        return f"the batch of step {said.event.step:,} has values that are not finite in {where}{row}"
    if "sample" in part:
        return f"sample {part['sample']:,} holds {part.get('value', 'such a value')} in {where}"
    row = f", sample {part['row']}" if "row" in part else ""
    return (
        f"batch {said.event.step:,} of the data, gone through once more, holds {part.get('value', 'such a value')}"
        f" in {where}{row}"
    )
