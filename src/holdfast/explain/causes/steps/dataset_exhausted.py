"""The data ran out before the planned steps; Keras continues with short epochs."""

from __future__ import annotations

from holdfast.explain.readings.fits import Fit, steps_short
from holdfast.explain.readings.pipeline import from_generator
from holdfast.explain.rule import Evidence, Fact, Finding, Remedy, RuledOut, Strength, Title, cause, ev

_RAN_OUT = "ran out of data"


@cause("dataset-exhausted")
def dataset_exhausted(evidence: Evidence) -> Finding | RuledOut | None:
    short = steps_short(evidence)
    if short is None:
        return _asked_again(evidence) or _only_warned(evidence) or _not_short(evidence)
    data, warned = evidence.data(), _warned(evidence)
    batches = (data.event.cardinality or 0) if data is not None else 0
    generator = data is not None and from_generator(data.event)
    facts = [short.fit.by_epoch(short.planned), *warned]
    if data is not None and batches > 0:
        facts.append(Fact("dataset.length", {"batches": batches}, data.source))
    certain = bool(warned or batches > 0) and not generator
    done = {"steps": sum(short.steps), "planned": short.planned * len(short.steps)}
    return Finding(
        Strength.ESTABLISHED if certain else Strength.SUPPORTED,
        Title("dataset-exhausted", done),
        because=[*facts, *_asked_for(short.fit)],
        remedies=[Remedy("dataset.repeat"), Remedy("fit.without-steps-per-epoch")],
        ends=evidence.exit_code == 0,
    )


def _only_warned(evidence: Evidence) -> Finding | None:
    """A log has Keras's own warning, and may not have the planned steps. Keras 3 warns of a healthy dataset too,
    where it did not know its size."""
    warned = _warned(evidence) if evidence.log else []
    if not warned:
        return None
    remedies = (Remedy("dataset.repeat"), Remedy("fit.without-steps-per-epoch"))
    return Finding(
        Strength.POSSIBLE, Title("dataset-exhausted.warned"), tuple(warned), remedies=remedies, ends=False
    )


def _warned(evidence: Evidence) -> list[Fact]:
    sources = [one.source for one in evidence.all(ev.WarningSeen) if _RAN_OUT in one.event.text]
    printed = evidence.output.last(_RAN_OUT, advice=True)
    sources += [printed.source] if printed is not None else []
    return [Fact("keras.warned-of-data-end", {}, source) for source in sources[:1]]


def _asked_for(fit: Fit) -> list[Fact]:
    if fit.started is None or not fit.started.event.steps_per_epoch:
        return []
    values = {"steps": fit.started.event.steps_per_epoch, "where": fit.started.event.where}
    return [Fact("fit.steps-per-epoch", values, fit.started.source)]


def _asked_again(evidence: Evidence) -> Finding | None:
    """A loop of the user's own that asks an iterator again which has ended: its later rounds train nothing."""
    used = evidence.last(ev.ExhaustedIteratorUsed)
    if used is None:
        return None
    values = {"where": used.event.where, "times": used.event.times, "steps": evidence.step or 0}
    return Finding(
        Strength.SUPPORTED,
        Title("dataset-exhausted.iterator", values),
        because=[Fact("iterator.asked-after-its-end", values, used.source)],
        remedies=[Remedy("iterator.make-one-an-epoch"), Remedy("iterator.repeat")],
        ends=False,
    )


def _not_short(evidence: Evidence) -> RuledOut | None:
    fit = evidence.fit
    if fit is None or fit.done is None or not fit.planned_steps or fit.done.event.steps < fit.planned_steps:
        return None
    return RuledOut("dataset-exhausted.all-done", {"planned": fit.planned_steps}, fit.done.source)
