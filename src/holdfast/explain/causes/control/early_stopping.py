"""EarlyStopping ended the training, as it was asked to."""

import re

from holdfast.explain.finding import Values
from holdfast.explain.readings.fits import stop_request
from holdfast.explain.readings.numbers import number_of
from holdfast.explain.rule import Evidence, Finding, Recorded, Remedy, Strength, Title, cause, ev, facts

OURS = "early-stopping"  # as our own trainer names it
_KERAS = re.compile(r"(.*/)?(tf_)?keras/")
_FALLS = re.compile(r"loss|error|mse|mae", re.IGNORECASE)
_GROWS = re.compile(r"acc|auc|precision|recall|iou|f1|map\b", re.IGNORECASE)
#: The patience that a remedy suggests is twice the present one, and at least this.
_LONGER_PATIENCE = 5


@cause("early-stopping", specialises=("stopped-by-callback",))
def early_stopping(evidence: Evidence) -> Finding | None:
    asked = stop_request(evidence, _is_early_stopping)
    if asked is None or evidence.went_wrong or evidence.stall is not None:
        return None
    event = asked.event
    if event.by == OURS:
        return _by_our_trainer(evidence, asked)
    if "stopped_epoch" not in event.settings and event.where and not _KERAS.match(event.where):
        return None  # a callback of the user's own that has this name
    return _by_keras(evidence, asked)


def _is_early_stopping(by: str, settings: Values) -> bool:
    return by == OURS or "EarlyStopping" in by or ("patience" in settings and "stopped_epoch" in settings)


def _by_keras(evidence: Evidence, asked: Recorded[ev.StopRequested]) -> Finding:
    event, fit = asked.event, evidence.fit
    monitor, patience = str(event.settings.get("monitor", "its metric")), event.settings.get("patience")
    mode, best = event.settings.get("mode"), number_of(event.settings.get("best"))
    epoch = event.epoch + 1 if event.epoch is not None else None
    wrong = _against_its_sense(monitor, mode)
    if wrong:
        turned = {"monitor": monitor, "mode": "max" if mode == "min" else "min", "patience": patience}
        remedy = Remedy("early-stopping.turn-mode", turned)
    else:
        remedy = Remedy("early-stopping.more-patience", {"monitor": monitor, "patience": _longer(patience)})
    done = fit.end.epochs_done if fit is not None and fit.done is not None else None
    planned = fit.planned_epochs if fit is not None else None
    reached = {"epoch": done if planned else None, "epochs": planned if done is not None else None}
    kind = "early-stopping.wrong-mode" if wrong else "early-stopping"
    return Finding(
        Strength.ESTABLISHED,
        Title(kind, {**reached, "monitor": monitor, "mode": mode}),
        facts(
            asked.fact("stop.set", by=event.by, epoch=epoch, where=event.where),
            asked.fact("early-stopping.watches", monitor=monitor, patience=patience, best=best),
            wrong and asked.fact("early-stopping.wrong-mode", monitor=monitor, mode=mode),
            patience == 0 and asked.fact("early-stopping.no-patience"),
        ),
        [remedy],
        normal=not wrong,
    )


def _by_our_trainer(evidence: Evidence, asked: Recorded[ev.StopRequested]) -> Finding:
    known, fit = asked.event.settings, evidence.fit
    patience, best_step = known.get("patience"), known.get("best_step")
    watched = {"monitor": known.get("monitor", "AP"), "waited": known.get("waited"), "patience": patience}
    best = {"best": number_of(known.get("best")), "step": best_step}
    planned = fit.planned_steps if fit is not None else None
    return Finding(
        Strength.ESTABLISHED,
        Title("early-stopping.ours", {"step": asked.event.step or 0, "steps": planned or None}),
        facts(
            asked.fact("early-stopping.not-better", **watched),
            best_step is not None and asked.fact("early-stopping.best", **best),
        ),
        [Remedy("early-stopping.resume", {"patience": _longer(patience)})],
        normal=True,
    )


def _longer(patience: object) -> int:
    return max(_LONGER_PATIENCE, 2 * int(number_of(patience) or 0))


def _against_its_sense(monitor: str, mode: object) -> bool:
    """Whether the mode waits for a metric to move the wrong way."""
    if "neg" in monitor.lower():  # `neg_loss` grows
        return False
    falls, grows = _FALLS.search(monitor) is not None, _GROWS.search(monitor) is not None
    return (mode == "max" and falls) or (mode == "min" and grows and not falls)
