"""Training was resumed without the optimizer's state."""

from holdfast.explain.readings.warnings_seen import warned_of
from holdfast.explain.rule import Evidence, Fact, Finding, Remedy, Strength, Title, cause, ev, facts

_SKIPPED = "Skipping variable loading for optimizer"


@cause("resume-lost-state")
def resume_lost_state(evidence: Evidence) -> Finding | None:
    fit, restored, skipped = evidence.fit, _restored_without(evidence), warned_of(evidence, _SKIPPED)
    if fit is None or fit.started is None or (restored is None and skipped is None):
        return None
    epoch, fresh = fit.start.initial_epoch, fit.start.iterations == 0
    # Weights from elsewhere, then two phases with another optimizer: that is how one fine-tunes.
    phases = epoch > 0 and any(one.epochs for one in evidence.fits[:-1])
    resumed = (epoch > 0 and not phases) or len(evidence.earlier) > 0
    if not resumed or not (fresh or skipped is not None):
        return None
    return Finding(
        Strength.established_if(fresh and restored is not None),
        Title("resume-lost-state"),
        facts(
            restored,
            fit.started.fact("fit.resumed-at", epoch=epoch or None),
            fresh and fit.started.fact("optimizer.fresh"),
            skipped and Fact("keras.skips-optimizer", {}, skipped.source),
        ),
        (Remedy("checkpoint.save-with-optimizer"), Remedy("checkpoint.backup-and-restore")),
        ends=False,
    )


def _restored_without(evidence: Evidence) -> Fact | None:
    """The newest restore without optimizer state. Our own trainer restores all or nothing."""
    for one in reversed(evidence.all(ev.Restored)):
        event = one.event
        if event.by != "trainer" and (event.optimizer_restored is False or event.iterations == 0):
            return one.fact("checkpoint.without-optimizer", by=event.by, path=event.path, where=event.where)
    return None
