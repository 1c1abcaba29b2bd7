"""EarlyStopping ended the training, as it was asked to."""

from __future__ import annotations

import re

from holdfast.explain.finding import Values
from holdfast.explain.readings.fits import stop_request
from holdfast.explain.readings.numbers import number_of
from holdfast.explain.rule import Evidence, Fact, Finding, Recorded, Remedy, Strength, Title, cause
from holdfast.journal.events import StopRequested

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


def _by_keras(evidence: Evidence, asked: Recorded[StopRequested]) -> Finding:
    event, fit = asked.event, evidence.fit
    monitor, patience = str(event.settings.get("monitor", "its metric")), event.settings.get("patience")
    mode = event.settings.get("mode")
    epoch = event.epoch + 1 if event.epoch is not None else None
    watched = {"monitor": monitor, "patience": patience, "best": number_of(event.settings.get("best"))}
    facts = [
        Fact("stop.set", {"by": event.by, "epoch": epoch, "where": event.where}, asked.source),
        Fact("early-stopping.watches", watched, asked.source),
    ]
    remedy = Remedy("early-stopping.more-patience", {"monitor": monitor, "patience": _longer(patience)})
    wrong = _against_its_sense(monitor, mode)
    if wrong:
        facts.append(Fact("early-stopping.wrong-mode", {"monitor": monitor, "mode": mode}, asked.source))
        right = "max" if mode == "min" else "min"
        remedy = Remedy("early-stopping.turn-mode", {"monitor": monitor, "mode": right, "patience": patience})
    if patience == 0:
        facts.append(Fact("early-stopping.no-patience", {}, asked.source))
    done = fit.done.event.epochs_done if fit is not None and fit.done is not None else None
    planned = fit.planned_epochs if fit is not None else None
    reached = {"epoch": done if planned else None, "epochs": planned if done is not None else None}
    kind = "early-stopping.wrong-mode" if wrong else "early-stopping"
    title = Title(kind, {**reached, "monitor": monitor, "mode": mode})
    return Finding(Strength.ESTABLISHED, title, facts, [remedy], normal=not wrong)


def _by_our_trainer(evidence: Evidence, asked: Recorded[StopRequested]) -> Finding:
    known = asked.event.settings
    values: Values = {
        "monitor": known.get("monitor", "AP"),
        "waited": known.get("waited"),
        "patience": known.get("patience"),
    }
    facts = [Fact("early-stopping.not-better", values, asked.source)]
    if known.get("best_step") is not None:
        best = {"best": number_of(known.get("best")), "step": known["best_step"]}
        facts.append(Fact("early-stopping.best", best, asked.source))
    planned = evidence.fit.planned_steps if evidence.fit is not None else None
    title = Title("early-stopping.ours", {"step": asked.event.step or 0, "steps": planned or None})
    remedy = Remedy("early-stopping.resume", {"patience": _longer(known.get("patience"))})
    return Finding(Strength.ESTABLISHED, title, facts, [remedy], normal=True)


def _longer(patience: object) -> int:
    return max(_LONGER_PATIENCE, 2 * int(number_of(patience) or 0))


def _against_its_sense(monitor: str, mode: object) -> bool:
    """Whether the mode waits for a metric to move the wrong way."""
    if "neg" in monitor.lower():  # `neg_loss` grows
        return False
    falls, grows = _FALLS.search(monitor) is not None, _GROWS.search(monitor) is not None
    return (mode == "max" and falls) or (mode == "min" and grows and not falls)
