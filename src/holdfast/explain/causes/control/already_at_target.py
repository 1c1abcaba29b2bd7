"""The restored run is already at or past its goal: 0 steps, exit code 0."""

from __future__ import annotations

from holdfast.explain.causes.declare import Group, cause
from holdfast.explain.evidence import Evidence
from holdfast.explain.unconverted import Fact, Finding, Remedy, Strength
from holdfast.journal import events as ev


@cause("already-at-target", Group.CONTROL, specialises=("dataset-empty",))
def already_at_target(evidence: Evidence) -> Finding | None:
    fit, restored = evidence.fit, evidence.last(ev.Restored)
    if fit is None:
        return _loop_of_no_turns(evidence)
    if fit.started is None or (fit.done is not None and fit.steps > 0) or evidence.went_wrong:
        return None
    event = fit.started.event
    at_start = bool(event.epochs) and event.initial_epoch >= (event.epochs or 0)
    by_backup = (
        restored is not None
        and restored.event.epoch is not None
        and event.epochs is not None
        and restored.event.epoch >= event.epochs
    )
    if not (at_start or by_backup) or fit.done is None:
        return None
    begin = event.initial_epoch if at_start else (restored.event.epoch if restored is not None else None)
    facts = [
        Fact(
            f"fit{f' ({event.where})' if event.where else ''} was to run up to epoch {event.epochs} and began "
            f"at epoch {begin}",
            fit.started.source,
        ),
        Fact("no step was done", fit.done.source),
    ]
    if restored is not None:
        facts.append(
            Fact(
                f"{restored.event.by} restored {restored.event.path}"
                + (f" at epoch {restored.event.epoch}" if restored.event.epoch is not None else ""),
                restored.source,
            )
        )
    return Finding(
        "already-at-target",
        Strength.ESTABLISHED,
        f"there was nothing left to do: epoch {begin} of {event.epochs} was reached before",
        tuple(facts),
        (),
        (
            Remedy(
                "ask for more epochs",
                "your-choice",
                f"model.fit(…, epochs={(event.epochs or 0) * 2}, initial_epoch={begin})",
            ),
            Remedy("start anew: remove the backup or the checkpoint that is restored", "your-choice"),
        ),
    )


def _loop_of_no_turns(evidence: Evidence) -> Finding | None:
    """A loop of the script's own: a trained state was restored, no step done, and the same state written back."""
    restored = evidence.last(ev.Restored)
    if restored is None or evidence.step or evidence.went_wrong or evidence.exit_code != 0:
        return None
    back = [said for said in evidence.all(ev.SaveDone) if said.event.path == restored.event.path]
    if not restored.event.iterations or not back or evidence.last(ev.PredictDone) is not None:
        return None
    return Finding(
        "already-at-target",
        Strength.SUPPORTED,
        f"there was nothing left to do: {restored.event.path} was written back as it was read",
        (
            Fact(
                f"{restored.event.by} restored {restored.event.path}, "
                f"which has {restored.event.iterations:,} steps behind it",
                restored.source,
            ),
            Fact("no step was done", evidence.exit_source),
            Fact(f"then it was saved to {restored.event.path} again", back[-1].source),
        ),
        (),
        (
            Remedy("look at what the loop runs up to, and from where it begins", "your-choice"),
            Remedy("start anew: remove the checkpoint that is restored", "your-choice"),
        ),
    )
