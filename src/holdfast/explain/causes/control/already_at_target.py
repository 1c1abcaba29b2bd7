"""The restored run is already at or past its goal: 0 steps, exit code 0."""

import os

from holdfast.explain.readings.fits import Fit
from holdfast.explain.rule import Evidence, Fact, Finding, Recorded, Remedy, Strength, Title, cause, ev, facts

_START_OVER = Remedy("checkpoint.remove-to-start-over")


@cause("already-at-target", specialises=("dataset-empty",))
def already_at_target(evidence: Evidence) -> Finding | None:
    fit, restored = evidence.fit, evidence.last(ev.Restored)
    if fit is None:
        return _loop(evidence, restored)
    shared = _of_another_fit(evidence)
    if shared is not None:
        return shared
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


def _of_another_fit(evidence: Evidence) -> Finding | None:
    """Folds or trials that share a checkpoint: a later fit restores what an earlier one of the process finished."""
    if evidence.went_wrong:
        return None
    pairs = [(fit, _finished_before(evidence, fit)) for fit in evidence.fits[1:]]
    idle = [(fit, saved) for fit, saved in pairs if saved is not None]
    if not idle:
        return None
    (fit, saved), restored = idle[-1], evidence.last(ev.Restored)
    values = {"idle": len(idle), "fits": len(evidence.fits), "epochs": fit.start.epochs, "path": saved.event.path,
              "where": fit.start.where}  # fmt: skip
    return Finding(
        Strength.ESTABLISHED,
        Title("already-at-target.another-fit", values),
        facts(
            saved.fact("save.by-another-fit", path=saved.event.path),
            restored and _restored(restored),
            fit.done and fit.done.fact("fits.without-steps", **values),
        ),
        (Remedy("checkpoint.one-for-each-fit"), _START_OVER),
    )


def _finished_before(evidence: Evidence, fit: Fit) -> Recorded[ev.SaveDone] | None:
    """The save, in an earlier fit, of the state with which this one had no epoch left to do."""
    if (
        fit.started is None
        or not fit.finished
        or fit.steps
        or fit.start.epochs is None
        or not fit.planned_epochs
    ):
        return None
    restored = fit.restored
    if restored is None or (restored.event.epoch or 0) < fit.start.epochs:
        return None
    earlier = [one for one in evidence.all(ev.SaveDone) if one.line < fit.started.line]
    same = [one for one in earlier if _same_place(one.event.path, restored.event)]
    return same[-1] if same else None


def _same_place(path: str, restored: ev.Restored) -> bool:
    """The backup of a callback is one folder, whatever the files in it are called."""
    in_folder = restored.by == "BackupAndRestore" and os.path.dirname(path) == os.path.dirname(restored.path)
    return path == restored.path or in_folder


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
