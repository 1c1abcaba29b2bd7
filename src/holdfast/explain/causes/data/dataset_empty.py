"""A dataset yields nothing: not one training step, or no validation batch."""

from __future__ import annotations

import re

from holdfast.explain.readings.error import ErrorText, user_line
from holdfast.explain.readings.fits import Fit
from holdfast.explain.rule import Evidence, Fact, Finding, Recorded, Remedy, Strength, Title, cause, ev

_EMPTY = ErrorText(
    r"(ran out of data|UnboundLocalError.*logs|No data|dataset.*(is )?empty|0 (training )?images)"
)
#: What a loader raises that was given nothing.
_REFUSED = ErrorText(
    r"num_samples should be a positive integer.*num_samples=0|dataset is empty|empty dataset", re.IGNORECASE
)
#: Keras 2 raises where its first epoch had no step; Keras 3 continues.
_RAISED = ErrorText(
    r"Expect x to be a non-empty array or dataset|Unexpected result of `train_function` \(Empty [Ll]ogs\)"
)


@cause("dataset-empty", specialises=("script-error", "dataset-exhausted"))
def dataset_empty(evidence: Evidence) -> Finding | None:
    fits, data, passes = _fits_without_steps(evidence), evidence.data(), evidence.all(ev.EmptyPassSeen)[-1:]
    counted_empty = data is not None and data.event.cardinality == 0
    ended_empty = (counted_empty or bool(passes)) and not evidence.alive
    if evidence.step or not (fits or ended_empty):
        return _refused(evidence) or _validation_empty(evidence)
    facts = [
        Fact("loop.got-no-data", {"where": one.event.where, "passes": one.event.passes}, one.source)
        for one in passes
    ]
    facts += [
        Fact("fit.without-steps", {"fit": fit.number, "epochs": fit.done.event.epochs}, fit.done.source)
        for fit in fits[-1:]
        if fit.done is not None
    ]
    facts += [*_known_of(data), *_warned(evidence)]
    if (quote := _EMPTY.match(evidence) or _RAISED.match(evidence)) is not None:
        facts.append(quote.fact)
    return Finding(
        Strength.ESTABLISHED if fits or counted_empty else Strength.SUPPORTED,
        Title("dataset-empty", {"where": data.event.where if data is not None else ""}),
        because=facts,
        remedies=[Remedy("data.refuse-empty"), Remedy("data.check-path", safety="automatic")],
    )


def _refused(evidence: Evidence) -> Finding | None:
    quote = _REFUSED.match(evidence) if not evidence.step else None
    if quote is None or evidence.error is None:
        return None
    return Finding(
        Strength.SUPPORTED,
        Title("dataset-empty", {"where": evidence.error.user_line}),
        because=(quote.fact, *user_line(evidence)),
        remedies=(Remedy("data.refuse-empty"), Remedy("data.check-path", safety="automatic")),
    )


def _fits_without_steps(evidence: Evidence) -> list[Fit]:
    """Fits that ended by themselves after no step, though epochs were planned."""
    if any(one.event.by.startswith("SIG") for one in evidence.all(ev.StopRequested)):
        return []  # our trainer ends its fit in order when a signal asks it to, before the first step too
    refused = _RAISED.match(evidence) is not None
    return [
        fit
        for fit in evidence.fits
        if fit.done is not None
        and (refused or not fit.done.event.raised)
        and fit.steps == 0
        and not fit.lost_count
        and fit.planned_epochs != 0
    ]


def _known_of(data: Recorded[ev.DatasetSeen] | None) -> list[Fact]:
    if data is None:
        return []
    facts = (
        [Fact("data.no-elements", {"role": data.event.role}, data.source)]
        if data.event.cardinality == 0
        else []
    )
    return facts if data.event.file_count != 0 else [*facts, Fact("data.no-file-matched", {}, data.source)]


def _warned(evidence: Evidence) -> list[Fact]:
    warned = [one for one in evidence.all(ev.WarningSeen) if "ran out of data" in one.event.text]
    return [Fact("keras.warned", {"text": one.event.text}, one.source) for one in warned[:1]]


def _validation_empty(evidence: Evidence) -> Finding | None:
    """Training was done, and every validation of it saw nothing."""
    fit, data = evidence.fit, evidence.data("validation")
    done = [one for one in evidence.all(ev.ValidationDone) if fit is not None and one.event.fit == fit.number]
    if not done or any(one.event.batches or one.event.logs for one in done):
        return None
    return Finding(
        Strength.ESTABLISHED,
        Title("dataset-empty.validation", {"where": data.event.where if data is not None else ""}),
        because=[
            Fact("validations.without-batches", {"count": len(done)}, done[-1].source),
            *_known_of(data),
        ],
        remedies=[Remedy("data.check-the-split"), Remedy("data.check-path", safety="automatic")],
        led_to="monitor-missing" if _watches_validation(fit) else None,
        ends=False,
    )


def _watches_validation(fit: Fit | None) -> bool:
    callbacks = fit.started.event.callbacks if fit is not None and fit.started is not None else []
    return any(str(one.get("settings", {}).get("monitor", "")).startswith("val_") for one in callbacks)
