"""There was no data: every epoch is done after 0 steps, exit code 0."""

from __future__ import annotations

from holdfast.explain.causes.declare import Group, cause
from holdfast.explain.evidence import Evidence
from holdfast.explain.unconverted import Fact, Finding, Remedy, Strength, matched
from holdfast.explain.words import clipped, counted
from holdfast.journal import events as ev


@cause(
    "dataset-empty",
    Group.DATA,
    specialises=(
        "script-error",
        "dataset-exhausted",
    ),
)
def dataset_empty(evidence: Evidence) -> Finding | None:
    asked = any(said.event.by.startswith("SIG") for said in evidence.all(ev.StopRequested))
    empty = [
        fit
        for fit in evidence.fits
        if fit.done is not None
        and fit.steps == 0
        and not fit.lost_count
        and not fit.done.event.raised
        and fit.planned_epochs != 0
        and not asked  # our trainer ends its fit in order when a signal asks it to, before the first step too
    ]
    data = evidence.data()
    known_empty = data is not None and data.event.cardinality == 0
    raised = matched(
        evidence,
        r"(ran out of data|UnboundLocalError.*logs|No data|dataset.*(is )?empty|0 (training )?images)",
    )
    passes = evidence.all(ev.EmptyPassSeen)[-1:]
    if evidence.step or not (empty or ((known_empty or passes) and not evidence.alive)):
        return _validation_empty(evidence)
    facts = [
        Fact(
            f"the loop at {said.event.where} asked for data and got none, "
            f"{counted(said.event.passes, 'time')} or more",
            said.source,
        )
        for said in passes
    ]
    for fit in empty[-1:]:
        if fit.done is not None:
            facts.append(
                Fact(
                    f"fit {fit.number} ended after 0 steps, {counted(fit.done.event.epochs, 'epoch')} begun",
                    fit.done.source,
                )
            )
    if known_empty and data is not None:
        facts.append(Fact("the dataset says itself that it has 0 elements", data.source))
    if data is not None and data.event.file_count == 0:
        facts.append(Fact("no file matched its pattern", data.source))
    warned = [said for said in evidence.all(ev.WarningSeen) if "ran out of data" in said.event.text]
    facts += [Fact(f"Keras warned: {clipped(said.event.text, 100)}", said.source) for said in warned[:1]]
    if raised is not None:
        facts.append(raised[1])
    where = f" ({data.event.where})" if data is not None and data.event.where else ""
    return Finding(
        "dataset-empty",
        Strength.ESTABLISHED if empty or known_empty else Strength.SUPPORTED,
        f"the training dataset{where} is empty: no step was done",
        tuple(facts),
        (),
        (
            Remedy(
                "check the path and the pattern, and refuse to start on nothing",
                "your-choice",
                'assert files, f"no file matches {pattern}"',
            ),
            Remedy("check the data before: `holdfast check PATH`", "automatic"),
        ),
    )


def _validation_empty(evidence: Evidence) -> Finding | None:
    """Training went its way, and every validation of it saw nothing."""
    fit = evidence.fit
    done = [
        said for said in evidence.all(ev.ValidationDone) if fit is not None and said.event.fit == fit.number
    ]
    if not done or any(said.event.batches or said.event.logs for said in done):
        return None
    data = evidence.data("validation")
    where = f" ({data.event.where})" if data is not None and data.event.where else ""
    facts = [
        Fact(f"{counted(len(done), 'validation')} ended after 0 batches, without a metric", done[-1].source)
    ]
    if data is not None and data.event.cardinality == 0:
        facts.append(Fact("the validation dataset says itself that it has 0 elements", data.source))
    return Finding(
        "dataset-empty",
        Strength.ESTABLISHED,
        f"the validation dataset{where} is empty: there are no val_ metrics",
        tuple(facts),
        (),
        (
            Remedy(
                "look at how the data is split: `skip`, `take` and a split of 0 leave nothing", "your-choice"
            ),
            Remedy("check the data before: `holdfast check PATH`", "automatic"),
        ),
        led_to="monitor-missing" if _watches_validation(evidence) else None,
        ends=False,
    )


def _watches_validation(evidence: Evidence) -> bool:
    fit = evidence.fit
    callbacks = fit.started.event.callbacks if fit is not None and fit.started is not None else []
    return any(str(one.get("settings", {}).get("monitor", "")).startswith("val_") for one in callbacks)
