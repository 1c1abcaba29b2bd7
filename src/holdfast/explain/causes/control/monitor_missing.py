"""A callback watches a metric that does not exist."""

from __future__ import annotations

import re
from typing import Any

from holdfast.errors import nearest
from holdfast.explain.causes.declare import Group, cause
from holdfast.explain.evidence import Evidence
from holdfast.explain.unconverted import Fact, Finding, Remedy, Strength
from holdfast.explain.words import clipped, listed
from holdfast.journal import events as ev


@cause(
    "monitor-missing",
    Group.CONTROL,
    specialises=(
        "script-error",
        "callback-raised",
    ),
)
def monitor_missing(evidence: Evidence) -> Finding | None:
    fit = evidence.fit
    epochs = evidence.all(ev.EpochDone)
    logged = set(epochs[-1].event.logs) if epochs and epochs[-1].event.logs else set()
    warned = next((said for said in evidence.all(ev.WarningSeen) if _NOT_THERE.search(said.event.text)), None)
    printed = evidence.output.last(_NOT_THERE.pattern, advice=True)
    error = evidence.error
    named = _REFUSED.search(error.text) if error is not None and error.type == "ValueError" else None
    raised = (named, Fact(clipped(error.text, 160), error.source)) if named and error is not None else None
    watching = []
    for one in fit.started.event.callbacks if fit is not None and fit.started is not None else []:
        monitor = one.get("settings", {}).get("monitor")
        if monitor and logged and monitor not in logged and _acts_on_it(one):
            watching.append((str(one.get("class")), str(monitor)))
    if warned is None and printed is None and raised is None and not watching:
        return None
    if not watching and warned is None and raised is None and printed is None:
        return None
    name = (
        watching[0][1]
        if watching
        else _name(
            warned.event.text if warned else printed.text if printed else raised[1].fact if raised else ""
        )
    )
    who = watching[0][0] if watching else "a callback"
    facts = [
        Fact(
            f"{who} watches {name}",
            fit.started.source if fit is not None and fit.started is not None else "journal.jsonl",
        )
    ]
    if logged:
        facts.append(Fact(f"the metrics are {listed(sorted(logged), 8)}", epochs[-1].source))
    if warned is not None:
        facts.append(Fact(clipped(warned.event.text, 160), warned.source))
    elif printed is not None:
        facts.append(Fact(clipped(printed.text, 160), printed.source))
    if raised is not None:
        facts.append(raised[1])
    close = nearest(name, logged)
    certain = bool(watching or warned is not None or raised is not None)
    return Finding(
        "monitor-missing",
        Strength.ESTABLISHED if certain else Strength.SUPPORTED,
        f"{who} watches {name}, which is not among the metrics" + ("" if raised else ", so it never acts"),
        tuple(facts),
        (),
        (
            Remedy(
                f"watch {close}" if close else "watch a metric that exists",
                "your-choice",
                f'{who}(monitor="{close or "val_loss"}")' if who != "a callback" else "",
            ),
        ),
        ends=raised is not None,
    )


_REFUSED = re.compile(
    r"received monitor=|conditioned on metric|[`'\"]?monitor[`'\"]?.{0,60}(not available|not found|does not exist)"
)
_NOT_THERE = re.compile(
    r"conditioned on metric [`'\"]?\w+[`'\"]? which is not available|Can save best model only with \w+ available"
)


def _acts_on_it(callback: dict[str, Any]) -> bool:
    """A checkpoint that saves always never looks at its metric."""
    best_only = callback.get("settings", {}).get("save_best_only")
    return callback.get("class") in ("EarlyStopping", "ReduceLROnPlateau") or (
        callback.get("class") == "ModelCheckpoint" and bool(best_only)
    )


def _name(text: str) -> str:
    found = re.search(r"metric [`'\"]?(\w+)|only with (\w+)|[`'\"](\w+)[`'\"]", text)
    return next((part for part in found.groups() if part), "") if found else "its metric"
