"""Validation goes on and on: the validation data is endless or counted in samples."""

from __future__ import annotations

from holdfast.explain.causes.declare import Group, cause
from holdfast.explain.evidence import Evidence
from holdfast.explain.unconverted import Fact, Finding, Remedy, Strength
from holdfast.explain.words import span, whole
from holdfast.journal import events as ev
from holdfast.journal.beats import Phase


@cause("validation-never-ends", Group.STEPS)
def validation_never_ends(evidence: Evidence) -> Finding | None:
    fit, data = evidence.fit, evidence.data("validation")
    begun, done = evidence.last(ev.ValidationStarted), evidence.last(ev.ValidationDone)
    open_now = begun is not None and (done is None or done.line < begun.line)
    tested = (
        evidence.beats[-1].test_batches
        if evidence.beats
        else max((s.test_batches for _, s in evidence.samples[-1:]), default=0)
    )
    if (
        not (open_now or evidence.phase == Phase.VALIDATION)
        or tested < 3
        or evidence.exit_code == 0
        or evidence.oom_ended
    ):
        return None
    steps = fit.started.event.validation_steps if fit is not None and fit.started is not None else None
    endless = data is not None and data.event.cardinality == -1 and not steps
    train = max(
        [*(fit.steps_by_epoch if fit is not None else []), *(s.train_batches for _, s in evidence.samples), 0]
    )
    planned = begun.event.planned_batches if begun is not None else None
    moving = not _stands_in_it(evidence)
    facts = [
        Fact(
            f"{whole(tested)} validation batches so far, after {whole(train)} training steps an epoch",
            "beats",
        )
    ]
    if endless and data is not None:
        facts.append(
            Fact(
                "the validation dataset says itself that it is infinite, and validation_steps is not given"
                + (f" ({data.event.where})" if data.event.where else ""),
                data.source,
            )
        )
    if planned and planned > 0:
        facts.append(Fact(f"{whole(planned)} are planned", begun.source if begun is not None else ""))
    unknown = (
        data is None or data.event.type in ("generator", "iterator") or data.event.cardinality in (-2, None)
    )
    seen = [said for said in evidence.all(ev.EndlessSeen) if said.event.what == "validation"]
    if seen:
        facts.append(
            Fact(
                f"{whole(seen[-1].event.batches)} batches in {span(seen[-1].event.for_s)}: {seen[-1].event.why}",
                seen[-1].source,
            )
        )
        endless = endless or seen[-1].event.sure
    # An `evaluate` of its own, beside or without a fit, may have all the data that there is.
    inside = train > 0 and begun is not None and begun.event.fit is not None
    long = tested > 10 * train and unknown and not planned and inside
    if not moving or not (endless or long):
        return None
    return Finding(
        "validation-never-ends",
        Strength.ESTABLISHED if endless else Strength.SUPPORTED,
        "validation does not end: its data repeats for ever"
        if endless
        else f"validation has run for {whole(tested)} batches and goes on",
        tuple(facts),
        (),
        (
            Remedy(
                "say how many batches validation takes, or let its dataset end",
                "your-choice",
                "model.fit(…, validation_steps=len(val_files) // batch)",
            ),
        ),
    )


def _stands_in_it(evidence: Evidence) -> bool:
    counts = [s.test_batches for _, s in evidence.samples[-6:] if s.phase == "validation"]
    return evidence.stall is not None and len(counts) > 3 and counts[-1] == counts[0]
