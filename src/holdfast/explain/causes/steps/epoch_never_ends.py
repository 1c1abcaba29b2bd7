"""The dataset repeats for ever and nobody said how long an epoch is."""

from __future__ import annotations

from holdfast.explain.causes.declare import Group, cause
from holdfast.explain.evidence import Evidence
from holdfast.explain.unconverted import Fact, Finding, Remedy, Strength
from holdfast.explain.words import whole
from holdfast.journal import events as ev
from holdfast.journal.beats import Phase


@cause("epoch-never-ends", Group.STEPS)
def epoch_never_ends(evidence: Evidence) -> Finding | None:
    fit, data = evidence.fit, evidence.data()
    if (open_loop := _open_loop(evidence)) is not None:
        return open_loop
    if fit is None:
        return _own_loop(evidence)
    if fit.started is None or data is None or fit.epochs:
        return None
    if fit.started.event.steps_per_epoch or fit.started.event.planned_steps_per_epoch:
        return None
    if (
        (fit.done is not None and not fit.done.event.raised)
        or evidence.phase == Phase.VALIDATION
        or (evidence.step or 0) < 2
    ):
        return None
    endless = data.event.cardinality == -1
    generator = data.event.type in ("generator", "iterator") or data.event.cardinality == -2
    batches = evidence.beats[-1].train_batches if evidence.beats else evidence.step or 0
    if (
        (not endless and not (generator and batches > 500))
        or not _ended_by_hand(evidence)
        or evidence.oom_ended
    ):
        return None
    seen = evidence.last(ev.EndlessSeen)
    endless = endless or (seen is not None and seen.event.what == "epoch" and seen.event.sure)
    where = f" ({fit.started.event.where})" if fit.started.event.where else ""
    facts = [
        Fact(f"fit{where} was called without steps_per_epoch", fit.started.source),
        Fact(f"the first epoch has {whole(batches)} steps so far and has not ended", "beats"),
    ]
    generator_at = _endless_generator(data.event)
    length = (
        f"its generator ({generator_at}) has no end: a `while True` without a return"
        if generator_at
        else "the dataset says itself that it is infinite"
        if endless
        else f"the data is a {data.event.type} of unknown length"
    )
    facts.insert(1, Fact(length, data.source))
    by = "the generator" if generator_at else "the dataset"
    return Finding(
        "epoch-never-ends",
        Strength.ESTABLISHED if endless else Strength.POSSIBLE,
        f"the first epoch never ends: {by} goes on for ever and steps_per_epoch is not given",
        tuple(facts),
        (),
        (
            Remedy(
                "say how long an epoch is",
                "your-choice",
                "model.fit(ds, steps_per_epoch=records // batch, epochs=…)",
            ),
            Remedy("let the generator return after one pass through the data", "your-choice")
            if generator_at
            else Remedy("leave out repeat(): Keras starts the dataset anew in every epoch", "your-choice"),
        ),
    )


def _ended_by_hand(evidence: Evidence) -> bool:
    return (
        evidence.exit_signal in ("SIGINT", "SIGTERM", "SIGKILL", "SIGHUP")
        or evidence.ended is None
        or (evidence.error is not None and evidence.error.type == "KeyboardInterrupt")
    )


def _own_loop(evidence: Evidence) -> Finding | None:
    """A loop over an endless dataset, without a way out in its source, inside another loop that it holds up."""
    loops = evidence.all(ev.DataOnlyLoopSeen)
    data = evidence.data()
    if not loops or data is None or data.event.cardinality != -1 or (evidence.step or 0) < 2:
        return None
    if not _ended_by_hand(evidence) or evidence.oom_ended:
        return None
    where = loops[0].event.where
    return Finding(
        "epoch-never-ends",
        Strength.SUPPORTED,
        f"the loop at {where} never ends: its dataset goes on for ever, and nothing in it breaks off",
        (
            Fact("the dataset says itself that it is infinite", data.source),
            Fact(f"the loop at {where} has no break, and stands inside another loop", loops[0].source),
            Fact(f"its first round has {whole(evidence.step or 0)} steps so far and has not ended", "beats"),
        ),
        (),
        (
            Remedy("say how long an epoch is", "your-choice", "for batch in ds.take(steps_per_epoch): …"),
            Remedy("leave out repeat(): every `for` over a dataset starts it anew", "your-choice"),
        ),
    )


def _open_loop(evidence: Evidence) -> Finding | None:
    """A `while` around the training that ends only by what it computes, and computes nothing better any more."""
    loops = evidence.all(ev.OpenLoopSeen)
    seen = [said for said in evidence.all(ev.EndlessSeen) if said.event.what == "loop"]
    if not loops or not seen or not _ended_by_hand(evidence) or evidence.oom_ended:
        return None
    where, goes_on = loops[-1].event.where, " and ".join(loops[-1].event.until)
    return Finding(
        "epoch-never-ends",
        Strength.SUPPORTED,
        f"the loop at {where} may never end: it goes on {goes_on}, and comes no nearer to it",
        (
            Fact(f"the loop at {where} goes on {goes_on}; it has no count and no clock", loops[-1].source),
            Fact(f"after {whole(seen[-1].event.batches)} steps: {seen[-1].event.why}", seen[-1].source),
        ),
        (),
        (
            Remedy(
                "give the loop an end that it reaches in any case",
                "your-choice",
                "for step in range(MOST_STEPS): …; if loss < GOAL: break",
            ),
            Remedy("choose a goal that this model and data can reach, or a smaller learning rate", "guess"),
        ),
    )


def _endless_generator(data: ev.DatasetSeen) -> str:
    """Where the generator without an end was written, if one feeds it."""
    return next((str(node.get("where") or "it") for node in data.nodes if node.get("endless")), "")
