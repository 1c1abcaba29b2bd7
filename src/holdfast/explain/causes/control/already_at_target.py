"""The restored run is already at or past its goal: 0 steps, exit code 0."""

from holdfast.explain.rule import Evidence, Fact, Finding, Recorded, Remedy, Strength, Title, cause, ev, facts

_START_OVER = Remedy("checkpoint.remove-to-start-over")


@cause("already-at-target", specialises=("dataset-empty",))
def already_at_target(evidence: Evidence) -> Finding | None:
    fit, restored = evidence.fit, evidence.last(ev.Restored)
    if fit is None:
        return _loop(evidence, restored)
    if fit.started is None or fit.done is None or fit.steps > 0 or evidence.went_wrong:
        return None
    epochs, given = fit.start.epochs, fit.start.initial_epoch
    resumed_at = restored.event.epoch if restored is not None else None
    first_epoch = given if epochs and given >= epochs else resumed_at
    if epochs is None or first_epoch is None or first_epoch < epochs:
        return None
    values = {"epochs": epochs, "first_epoch": first_epoch, "where": fit.start.where}
    more = {"epochs": epochs * 2, "first_epoch": first_epoch}
    return Finding(
        Strength.ESTABLISHED,
        Title("already-at-target", values),
        facts(
            fit.started.fact("fit.planned", **values),
            fit.done.fact("steps.none"),
            restored and _restored(restored),
        ),
        (Remedy("fit.more-epochs", more), _START_OVER),
    )


def _loop(evidence: Evidence, restored: Recorded[ev.Restored] | None) -> Finding | None:
    """A loop of the script's own: a trained state was restored, no step done, and the same state written back."""
    if evidence.step or evidence.went_wrong or evidence.exit_code != 0:
        return None
    skipped = evidence.last(ev.LoopSkipped)
    if skipped is not None:
        return _no_round(evidence, skipped)
    if restored is None:
        return None
    if restored.event.planned_steps is not None:
        return _goal_reached(evidence, restored)
    path = restored.event.path
    saved = [save for save in evidence.all(ev.SaveDone) if save.event.path == path]
    if not restored.event.iterations or not saved or evidence.last(ev.PredictDone) is not None:
        return None
    return Finding(
        Strength.SUPPORTED,
        Title("already-at-target.loop", {"path": path}),
        (
            _restored(restored),
            Fact("steps.none", {}, evidence.exit_source),
            saved[-1].fact("save.same-path", path=path),
        ),
        (Remedy("loop.look-at-its-end"), _START_OVER),
    )


def _no_round(evidence: Evidence, skipped: Recorded[ev.LoopSkipped]) -> Finding:
    """The loop itself says it: its counter was at its bound before the first round."""
    values = ev.payload(skipped.event)
    return Finding(
        Strength.ESTABLISHED,
        Title("already-at-target.no-round", values),
        (skipped.fact("loop.no-round", **values), Fact("steps.none", {}, evidence.exit_source)),
        (Remedy("loop.more-rounds", values), _START_OVER),
    )


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
    return restored.fact("checkpoint.restored", **values)
