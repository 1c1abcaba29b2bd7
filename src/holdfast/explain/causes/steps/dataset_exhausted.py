"""The data ran out before the planned steps; Keras goes on with short epochs."""

from __future__ import annotations

from holdfast.explain.causes.declare import Group, cause
from holdfast.explain.evidence import Evidence
from holdfast.explain.readings.fits import steps_short
from holdfast.explain.unconverted import Fact, Finding, Remedy, RuledOut, Strength
from holdfast.explain.words import counted, listed, whole
from holdfast.journal import events as ev


@cause("dataset-exhausted", Group.STEPS)
def dataset_exhausted(evidence: Evidence) -> Finding | RuledOut | None:
    short = steps_short(evidence)
    if short is None:
        return _asked_again(evidence) or _not_short(evidence)
    fit, planned, steps = short
    data = evidence.data()
    generator = data is not None and data.event.type in ("generator", "iterator")
    facts = [
        Fact(
            f"steps by epoch: {listed([str(count) for count in steps], 12)}; planned {planned} each",
            fit.done.source if fit.done else fit.epochs[-1].source if fit.epochs else "journal.jsonl",
        )
    ]
    warned = [said for said in evidence.all(ev.WarningSeen) if "ran out of data" in said.event.text]
    printed = evidence.output.last("ran out of data", advice=True)
    if warned:
        facts.append(Fact("Keras warned that the input ran out of data, and went on", warned[0].source))
    elif printed is not None:
        facts.append(Fact("Keras warned that the input ran out of data, and went on", printed.source))
    if data is not None and (data.event.cardinality or -1) > 0:
        facts.append(
            Fact(f"the dataset has {counted(data.event.cardinality or 0, 'batch', 'batches')}", data.source)
        )
    if fit.started is not None and fit.started.event.steps_per_epoch:
        asked = (
            f"steps_per_epoch={fit.started.event.steps_per_epoch} was asked for "
            f"({fit.started.event.where or 'fit'})"
        )
        facts.append(Fact(asked, fit.started.source))
    certain = (
        bool(warned or printed or (data is not None and (data.event.cardinality or -1) > 0)) and not generator
    )
    return Finding(
        "dataset-exhausted",
        Strength.ESTABLISHED if certain else Strength.SUPPORTED,
        f"the data ran out: {whole(sum(steps))} of {whole(planned * len(steps))} planned steps were done",
        tuple(facts),
        (),
        (
            Remedy(
                "repeat the dataset, so that it never ends, and keep steps_per_epoch",
                "your-choice",
                "model.fit(ds.repeat(), steps_per_epoch=…, epochs=…)",
            ),
            Remedy(
                "leave steps_per_epoch out: Keras then uses the whole dataset in every epoch",
                "your-choice",
            ),
        ),
        ends=evidence.exit_code == 0,
    )


def _asked_again(evidence: Evidence) -> Finding | None:
    """A loop of one's own that goes on asking an iterator which has no more: its later rounds train nothing."""
    used = evidence.all(ev.ExhaustedIteratorUsed)
    if not used:
        return None
    times, where = used[-1].event.times, used[-1].event.where
    return Finding(
        "dataset-exhausted",
        Strength.SUPPORTED,
        f"the iterator at {where} had come to its end, and was asked again: nothing is trained then",
        (
            Fact(f"it was asked at {where} after its end, {counted(times, 'time')} or more", used[-1].source),
            Fact(f"{whole(evidence.step or 0)} steps were done in all", used[-1].source),
        ),
        (),
        (
            Remedy(
                "make a new iterator for every epoch", "your-choice", "for batch in ds: …   # or iter(ds)"
            ),
            Remedy("repeat the dataset, so that it never ends", "your-choice", "it = iter(ds.repeat())"),
        ),
        ends=False,
    )


def _not_short(evidence: Evidence) -> RuledOut | None:
    fit = evidence.fit
    if fit is None or fit.done is None or not fit.planned_steps or fit.done.event.steps < fit.planned_steps:
        return None
    return RuledOut(
        "dataset-exhausted", f"all {whole(fit.planned_steps)} planned steps were done", fit.done.source
    )
