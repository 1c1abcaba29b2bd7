"""A callback watches a metric that does not exist."""

from __future__ import annotations

import re
from typing import Any

from holdfast.errors import nearest
from holdfast.explain.rule import Evidence, Fact, Finding, Remedy, Strength, Title, cause, ev

_REFUSED = re.compile(
    r"received monitor=|conditioned on metric|[`'\"]?monitor[`'\"]?.{0,60}(not available|not found|does not exist)"
)
_NOT_THERE = re.compile(
    r"conditioned on metric [`'\"]?\w+[`'\"]? which is not available|Can save best model only with \w+ available"
)
_NAME = re.compile(r"metric [`'\"]?(\w+)|only with (\w+)|[`'\"](\w+)[`'\"]")


@cause("monitor-missing", specialises=("script-error", "callback-raised"))
def monitor_missing(evidence: Evidence) -> Finding | None:
    epochs = evidence.all(ev.EpochDone)
    logged = set(epochs[-1].event.logs) if epochs else set()
    callback, monitor = _watching(evidence, logged)
    quote, raised = _quote(evidence), _raised(evidence)
    if not monitor and quote is None and raised is None:
        return None
    said = quote or raised
    monitor = monitor or (_name(str(said.values["text"])) if said is not None else "")
    fit = evidence.fit
    source = fit.started.source if fit is not None and fit.started is not None else "journal.jsonl"
    facts = [Fact("callback.watches", {"callback": callback, "monitor": monitor}, source)]
    if logged:
        facts.append(Fact("metrics.are", {"metrics": sorted(logged)}, epochs[-1].source))
    facts += [fact for fact in (quote, raised) if fact is not None]
    warned = any(_NOT_THERE.search(one.event.text) for one in evidence.all(ev.WarningSeen))
    certain = bool(callback) or warned or raised is not None
    close = nearest(monitor, logged)
    return Finding(
        Strength.ESTABLISHED if certain else Strength.SUPPORTED,
        Title("monitor-missing", {"callback": callback, "monitor": monitor, "never_acts": raised is None}),
        because=facts,
        remedies=[Remedy("monitor.watch-another", {"callback": callback, "metric": close})],
        ends=raised is not None,
    )


def _watching(evidence: Evidence, logged: set[str]) -> tuple[str, str]:
    """The first callback that acts on a metric which is not logged, and that metric."""
    fit = evidence.fit
    for one in fit.started.event.callbacks if fit is not None and fit.started is not None else []:
        monitor = one.get("settings", {}).get("monitor")
        if monitor and logged and monitor not in logged and _acts_on_it(one):
            return str(one.get("class")), str(monitor)
    return "", ""


def _quote(evidence: Evidence) -> Fact | None:
    """What Keras warned, as the probe recorded it, or as it was printed."""
    for warning in evidence.all(ev.WarningSeen):
        if _NOT_THERE.search(warning.event.text):
            return Fact("error.quoted", {"text": warning.event.text}, warning.source)
    printed = evidence.output.last(_NOT_THERE.pattern, advice=True)
    return Fact("error.quoted", {"text": printed.text}, printed.source) if printed is not None else None


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
