"""Training was resumed without the optimizer's state."""

from __future__ import annotations

from holdfast.explain.rule import Evidence, Fact, Finding, Recorded, Remedy, Strength, Title, cause, ev

_SKIPPED = "Skipping variable loading for optimizer"


@cause("resume-lost-state")
def resume_lost_state(evidence: Evidence) -> Finding | None:
    fit = evidence.fit
    restored, skipped = _restored_without(evidence), _skipped(evidence)
    if fit is None or fit.started is None or (restored is None and skipped is None):
        return None
    epoch, fresh = fit.started.event.initial_epoch, fit.started.event.iterations == 0
    # Weights from elsewhere, then two phases with another optimizer: that is how one fine-tunes.
    phases = epoch > 0 and any(one.epochs for one in evidence.fits[:-1])
    resumed = (epoch > 0 and not phases) or len(evidence.earlier) > 0
    if not resumed or not (fresh or skipped is not None):
        return None
    facts = [_without_state(restored)] if restored is not None else []
    facts.append(Fact("fit.resumed-at", {"epoch": epoch or None}, fit.started.source))
    if fresh:
        facts.append(Fact("optimizer.fresh", {}, fit.started.source))
    if skipped is not None:
        facts.append(skipped)
    return Finding(
        Strength.ESTABLISHED if fresh and restored is not None else Strength.SUPPORTED,
        Title("resume-lost-state", {}),
        because=facts,
        remedies=[Remedy("checkpoint.save-with-optimizer"), Remedy("checkpoint.backup-and-restore")],
        ends=False,
    )


def _restored_without(evidence: Evidence) -> Recorded[ev.Restored] | None:
    """The newest restore without optimizer state. Our own trainer restores all or nothing."""
    lost = [
        one
        for one in evidence.all(ev.Restored)
        if one.event.by != "trainer" and (one.event.optimizer_restored is False or one.event.iterations == 0)
    ]
    return lost[-1] if lost else None


def _without_state(restored: Recorded[ev.Restored]) -> Fact:
    values = {"by": restored.event.by, "path": restored.event.path, "where": restored.event.where}
    return Fact("checkpoint.without-optimizer", values, restored.source)


def _skipped(evidence: Evidence) -> Fact | None:
    for warning in evidence.all(ev.WarningSeen):
        if _SKIPPED in warning.event.text:
            return Fact("keras.skips-optimizer", {}, warning.source)
    printed = evidence.output.last(_SKIPPED, advice=True)
    return Fact("keras.skips-optimizer", {}, printed.source) if printed is not None else None
