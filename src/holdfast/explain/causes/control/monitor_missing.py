"""A callback watches a metric that does not exist."""

import re
from typing import Any

from holdfast.errors import nearest
from holdfast.explain.readings.warnings_seen import warned_of
from holdfast.explain.rule import Evidence, Fact, Finding, Remedy, Strength, Title, cause, ev, facts

_REFUSED = re.compile(
    r"received monitor=|conditioned on metric|[`'\"]?monitor[`'\"]?.{0,60}(not available|not found|does not exist)"
)
_NOT_THERE = (
    r"conditioned on metric [`'\"]?\w+[`'\"]? which is not available|"
    r"Can save best model only with \w+ available"
)
_NAME = re.compile(r"metric [`'\"]?(\w+)|only with (\w+)|[`'\"](\w+)[`'\"]")


@cause("monitor-missing", specialises=("script-error", "callback-raised"))
def monitor_missing(evidence: Evidence) -> Finding | None:
    epoch, warned, raised = evidence.last(ev.EpochDone), warned_of(evidence, _NOT_THERE), _raised(evidence)
    logged = set(epoch.event.logs) if epoch is not None else set()
    callback, monitor = _watching(evidence, logged)
    if not monitor and warned is None and raised is None:
        return None
    if not monitor:
        monitor = _name(warned.text if warned is not None else str(raised and raised.values["text"]))
    started = evidence.fit.started if evidence.fit is not None else None
    certain = bool(callback) or (warned is not None and warned.recorded) or raised is not None
    watches = {"callback": callback, "monitor": monitor}
    return Finding(
        Strength.established_if(certain),
        Title("monitor-missing", {**watches, "never_acts": raised is None}),
        facts(
            Fact("callback.watches", watches, started.source if started else "journal.jsonl"),
            epoch and bool(logged) and epoch.fact("metrics.are", metrics=sorted(logged)),
            warned and Fact("error.quoted", {"text": warned.text}, warned.source),
            raised,
        ),
        [Remedy("monitor.watch-another", {"callback": callback, "metric": nearest(monitor, logged)})],
        ends=raised is not None,
    )


def _watching(evidence: Evidence, logged: set[str]) -> tuple[str, str]:
    """The first callback that acts on a metric which is not logged, and that metric."""
    for one in evidence.fit.start.callbacks if evidence.fit is not None else []:
        monitor = one.get("settings", {}).get("monitor")
        if monitor and logged and monitor not in logged and _acts_on_it(one):
            return str(one.get("class")), str(monitor)
    return "", ""


def _raised(evidence: Evidence) -> Fact | None:
    error = evidence.error
    if error is None or not _REFUSED.search(error.text):
        return None
    return Fact("error.quoted", {"text": error.text}, error.source)


def _acts_on_it(callback: dict[str, Any]) -> bool:
    """A checkpoint that saves always never looks at its metric."""
    best_only = callback.get("settings", {}).get("save_best_only")
    name = callback.get("class")
    return name in ("EarlyStopping", "ReduceLROnPlateau") or (name == "ModelCheckpoint" and bool(best_only))


def _name(text: str) -> str:
    found = _NAME.search(text)
    return next((part for part in found.groups() if part), "") if found else "its metric"
