"""The restored run is already at or past its goal: 0 steps, exit code 0."""

from __future__ import annotations

from holdfast.explain.finding import Values
from holdfast.explain.rule import Evidence, Fact, Finding, Recorded, Remedy, Strength, Title, cause, ev


@cause("already-at-target", specialises=("dataset-empty",))
def already_at_target(evidence: Evidence) -> Finding | None:
    fit, restored = evidence.fit, evidence.last(ev.Restored)
    if fit is None:
        return _loop(evidence, restored)
    if fit.started is None or fit.done is None or fit.steps > 0 or evidence.went_wrong:
        return None
    event = fit.started.event
    restored_epoch = restored.event.epoch if restored is not None else None
    if event.epochs and event.initial_epoch >= event.epochs:
        first_epoch: int | None = event.initial_epoch
    elif event.epochs is not None and restored_epoch is not None and restored_epoch >= event.epochs:
        first_epoch = restored_epoch
    else:
        return None
    values: Values = {"epochs": event.epochs, "first_epoch": first_epoch, "where": event.where}
    facts = [Fact("fit.planned", values, fit.started.source), Fact("steps.none", {}, fit.done.source)]
    if restored is not None:
        facts.append(_restored(restored))
    more = {"epochs": (event.epochs or 0) * 2, "first_epoch": first_epoch}
    return Finding(
        Strength.ESTABLISHED,
        Title("already-at-target", values),
        because=facts,
        remedies=[Remedy("fit.more-epochs", more), Remedy("checkpoint.remove-to-start-over")],
    )


def _loop(evidence: Evidence, restored: Recorded[ev.Restored] | None) -> Finding | None:
    """A loop of the script's own: a trained state was restored, no step done, and the same state written back."""
    if restored is None or evidence.step or evidence.went_wrong or evidence.exit_code != 0:
        return None
    if restored.event.planned_steps is not None:
        return _goal_reached(evidence, restored)
    path = restored.event.path
    saved = [save for save in evidence.all(ev.SaveDone) if save.event.path == path]
    if not restored.event.iterations or not saved or evidence.last(ev.PredictDone) is not None:
        return None
    facts = (
        _restored(restored),
        Fact("steps.none", {}, evidence.exit_source),
        Fact("save.same-path", {"path": path}, saved[-1].source),
    )
    remedies = (Remedy("loop.look-at-its-end"), Remedy("checkpoint.remove-to-start-over"))
    title = Title("already-at-target.loop", {"path": path})
    return Finding(Strength.SUPPORTED, title, facts, remedies)


def _goal_reached(evidence: Evidence, restored: Recorded[ev.Restored]) -> Finding | None:
    """The state that was restored is at the goal that the script has. One that drew data had something else to do."""
    if evidence.data() is not None or evidence.last(ev.PredictDone) is not None:
        return None
    event = restored.event
    goal = {"steps": event.planned_steps, "name": event.planned_name, "done": event.iterations}
    return Finding(
        Strength.ESTABLISHED,
        Title("already-at-target.steps", goal),
        (
            _restored(restored),
            Fact("steps.goal", goal, restored.source),
            Fact("steps.none", {}, evidence.exit_source),
        ),
        (Remedy("steps.more", goal), Remedy("checkpoint.remove-to-start-over")),
    )


def _restored(restored: Recorded[ev.Restored]) -> Fact:
    event = restored.event
    values = {"by": event.by, "path": event.path, "epoch": event.epoch, "iterations": event.iterations}
    return Fact("checkpoint.restored", values, restored.source)
