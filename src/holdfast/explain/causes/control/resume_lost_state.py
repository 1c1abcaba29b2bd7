"""Training was resumed without the optimizer's state."""

import re
from pathlib import PurePath

from holdfast.explain.readings.warnings_seen import warned_of
from holdfast.explain.rule import Evidence, Fact, Finding, Recorded, Remedy, Strength, Title, cause, ev, facts

#: Of an epoch or a step, or a metric, in the name of a checkpoint.
_NUMBER = re.compile(r"\d+(?:\.\d+)?")
_SKIPPED = "Skipping variable loading for optimizer"


@cause("resume-lost-state")
def resume_lost_state(evidence: Evidence) -> Finding | None:
    nothing = evidence.last(ev.StateDictLoaded)
    if nothing is not None and not nothing.event.taken:
        return _took_nothing(evidence, nothing)
    fit, restored, skipped = evidence.fit, _restored_without(evidence), warned_of(evidence, _SKIPPED)
    if fit is None or fit.started is None or (restored is None and skipped is None):
        return None
    epoch, fresh = fit.start.initial_epoch, fit.start.iterations == 0
    # Weights from elsewhere, then two phases with another optimizer: that is how one fine-tunes.
    phases = epoch > 0 and any(one.epochs for one in evidence.fits[:-1])
    resumed = (epoch > 0 and not phases) or len(evidence.earlier) > 0
    if restored is not None and fresh and not resumed:
        return _began_again(evidence, restored)
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


def _took_nothing(evidence: Evidence, nothing: Recorded[ev.StateDictLoaded]) -> Finding | None:
    """Names that do not fit, and a load that says nothing of it: the training begins with new weights."""
    if not evidence.step:
        return None
    event = nothing.event
    values = {"given": event.given, "where": event.where}
    named = {**values, "given_name": event.given_name, "wanted_name": event.wanted_name}
    return Finding(
        Strength.ESTABLISHED,
        Title("resume-lost-state.nothing-taken", values),
        [nothing.fact("state.not-taken", **named)],
        [Remedy("state.load-strictly", named)],
        ends=False,
    )


def _began_again(evidence: Evidence, restored: Fact) -> Finding | None:
    """It continued from a file of its own, and saves under the same numbered names from the first one on."""
    fit, path = evidence.fit, str(restored.values["path"])
    if fit is None or fit.started is None or fit.number != evidence.fits[0].number:
        return None
    saved = [one for one in evidence.all(ev.SaveStarted) if _same_series(one.event.path, path)]
    if not saved or _numbers(saved[0].event.path) >= _numbers(path):
        return None
    return Finding(
        Strength.SUPPORTED,
        Title("resume-lost-state"),
        [
            restored,
            fit.started.fact("optimizer.fresh"),
            saved[0].fact("checkpoint.numbered-again", path=path, first=saved[0].event.path),
        ],
        (
            Remedy("checkpoint.save-with-optimizer"),
            Remedy("checkpoint.backup-and-restore"),
        ),
        ends=False,
    )


def _same_series(path: str, other: str) -> bool:
    """Two names of one pattern in one folder, such as ckpt/e01.weights.h5 and ckpt/e06.weights.h5."""
    name, other_name = PurePath(path).name, PurePath(other).name
    return (
        PurePath(path).parent.name == PurePath(other).parent.name
        and _NUMBER.search(name) is not None
        and _NUMBER.sub("0", name) == _NUMBER.sub("0", other_name)
    )


def _numbers(path: str) -> list[float]:
    return [float(found) for found in _NUMBER.findall(PurePath(path).name)]


def _restored_without(evidence: Evidence) -> Fact | None:
    """The newest restore without optimizer state. Our own trainer restores all or nothing."""
    for one in reversed(evidence.all(ev.Restored)):
        event = one.event
        if event.by != "trainer" and (event.optimizer_restored is False or event.iterations == 0):
            return one.fact("checkpoint.without-optimizer", by=event.by, path=event.path, where=event.where)
    return None
