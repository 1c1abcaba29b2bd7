"""TerminateOnNaN ended the training because the loss was not a number."""

from __future__ import annotations

from holdfast.explain.causes.declare import Group, cause
from holdfast.explain.evidence import Evidence
from holdfast.explain.readings.fits import stop_request
from holdfast.explain.readings.numerics import non_finite
from holdfast.explain.unconverted import Fact, Finding, Remedy, Strength, matched
from holdfast.explain.words import clipped, number
from holdfast.journal import events as ev


@cause(
    "stopped-on-nan",
    Group.CONTROL,
    specialises=(
        "script-error",
        "stopped-by-callback",
    ),
    mechanism=True,
)
def stopped_on_nan(evidence: Evidence) -> Finding | None:
    asked = stop_request(evidence, lambda by, settings: "TerminateOnNaN" in by)
    printed = evidence.output.last(r"Batch \d+: Invalid loss, terminating training")
    if asked is None and len(evidence.fits) > 1:
        printed = None  # of an earlier fit, a trial of a search say
    raised = (
        matched(evidence, r"Invalid loss|NaN or Inf found in loss") if evidence.error is not None else None
    )
    if asked is None and printed is None and raised is None:
        return None
    facts = []
    if asked is not None:
        facts.append(
            Fact(
                f"{asked.event.by} set stop_training"
                + (f" at step {asked.event.step:,}" if asked.event.step is not None else ""),
                asked.source,
            )
        )
    if printed is not None:
        facts.append(Fact(clipped(printed.text), printed.source))
    if raised is not None:
        facts.append(raised[1])
    broken = non_finite(evidence)
    if broken is not None:
        facts.append(
            Fact(
                f"the {broken.event.what} became {broken.event.value} at step {broken.event.step:,}"
                + (
                    f"; it was {number(broken.event.last_finite)} before"
                    if broken.event.last_finite is not None
                    else ""
                ),
                broken.source,
            )
        )
    keras2 = any(said.event.name == "tf_keras" for said in evidence.all(ev.FrameworkSeen))
    return Finding(
        "stopped-on-nan",
        Strength.ESTABLISHED,
        "TerminateOnNaN ended the training: the loss was not a number",
        tuple(facts),
        (),
        (
            Remedy("cure what broke the loss; the callback only saw it", "your-choice"),
            Remedy(
                "let it fail loudly, so that the exit code is not 0",
                "your-choice",
                'if not np.isfinite(history.history["loss"][-1]): raise SystemExit("the loss is not a number")'
                if keras2
                else "keras.callbacks.TerminateOnNaN(raise_error=True)",
            ),
        ),
    )
