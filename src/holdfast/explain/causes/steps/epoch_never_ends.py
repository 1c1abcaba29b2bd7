"""The dataset repeats forever, and the length of an epoch is not given."""

from holdfast.explain.readings.end import ended_by_hand
from holdfast.explain.readings.fits import Fit
from holdfast.explain.readings.pipeline import INFINITE, UNKNOWN_LENGTH, from_generator
from holdfast.explain.rule import Evidence, Fact, Finding, Phase, Remedy, Strength, Title, cause, ev

#: Batches after which an epoch of unknown length is long enough to be shown. Chosen; it is only possible then.
_LONG_EPOCH = 500


@cause("epoch-never-ends")
def epoch_never_ends(evidence: Evidence) -> Finding | None:
    if not ended_by_hand(evidence) or evidence.oom_ended:
        return None
    return _open_loop(evidence) or (_own_loop(evidence) if evidence.fit is None else _first_epoch(evidence))


def _first_epoch(evidence: Evidence) -> Finding | None:
    """A fit without `steps_per_epoch` that is still in its first epoch."""
    fit, data = evidence.fit, evidence.data()
    if fit is None or fit.started is None or data is None or not _in_first_epoch(evidence, fit):
        return None
    steps = evidence.beats[-1].train_batches if evidence.beats else evidence.step or 0
    infinite = data.event.cardinality == INFINITE
    unknown = from_generator(data.event) or data.event.cardinality == UNKNOWN_LENGTH
    if not infinite and not (unknown and steps > _LONG_EPOCH):
        return None
    seen, generator = evidence.seen(ev.EndlessSeen), _endless_generator(data.event)
    sure = infinite or (seen.what == "epoch" and seen.sure)
    if generator:
        length = data.fact("generator.endless", where=generator)
    elif sure:
        length = data.fact("dataset.infinite", where="")
    else:
        length = data.fact("dataset.length-unknown", type=data.event.type)
    shorter = Remedy("generator.return-after-one-pass" if generator else "dataset.without-repeat")
    return Finding(
        Strength.ESTABLISHED if sure else Strength.POSSIBLE,
        Title("epoch-never-ends", {"generator": generator}),
        (
            fit.started.fact("fit.no-steps-per-epoch", where=fit.start.where),
            length,
            Fact("epoch.unfinished", {"steps": steps}, "beats"),
        ),
        (Remedy("fit.give-steps-per-epoch"), shorter),
    )


def _in_first_epoch(evidence: Evidence, fit: Fit) -> bool:
    length_known = fit.start.steps_per_epoch or fit.start.planned_steps_per_epoch
    if length_known or fit.epochs or fit.finished:
        return False
    return evidence.phase != Phase.VALIDATION and (evidence.step or 0) >= 2


def _endless_generator(data: ev.DatasetSeen) -> str:
    """Where the generator without an end was written, if one feeds it."""
    return next((str(node.get("where") or "it") for node in data.nodes if node.get("endless")), "")


def _own_loop(evidence: Evidence) -> Finding | None:
    """A loop over an infinite dataset, without a break in its source, inside another loop that it never returns to."""
    loops, data = evidence.all(ev.DataOnlyLoopSeen), evidence.data()
    loop = next((one for one in loops if one.event.role == "train"), None)
    if loop is None or data is None or data.event.cardinality != INFINITE or (evidence.step or 0) < 2:
        return None
    newest = evidence.samples[-1][1] if evidence.samples else None
    if newest is not None and newest.test_batches and not newest.train_batches:
        return None  # another pass is under way, so that this loop was left
    where = loop.event.where
    return Finding(
        Strength.SUPPORTED,
        Title("epoch-never-ends.loop", {"where": where}),
        (
            data.fact("dataset.infinite", where=data.event.where),
            loop.fact("loop.without-break", where=where, steps=evidence.step),
        ),
        (Remedy("loop.take-steps"), Remedy("dataset.without-repeat")),
    )


def _open_loop(evidence: Evidence) -> Finding | None:
    """A `while` around the training that ends only by what it computes, and that improves no more."""
    loop = evidence.last(ev.OpenLoopSeen)
    seen = [one for one in evidence.all(ev.EndlessSeen) if one.event.what == "loop"]
    if loop is None or not seen:
        return None
    values, end = {"where": loop.event.where, "until": loop.event.until}, seen[-1]
    return Finding(
        Strength.SUPPORTED,
        Title("epoch-never-ends.condition", values),
        (
            loop.fact("loop.open", **values),
            end.fact("loop.no-progress", steps=end.event.batches, why=end.event.why),
        ),
        (Remedy("loop.bound"), Remedy("loop.reachable-goal", safety="guess")),
    )
