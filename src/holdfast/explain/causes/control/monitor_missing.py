"""A callback watches a metric that does not exist."""

import errno
import re
from typing import Any

from holdfast.errors import nearest
from holdfast.explain.readings.files import never_written_by
from holdfast.explain.readings.fits import Fit
from holdfast.explain.readings.warnings_seen import warned_of
from holdfast.explain.rule import Evidence, Fact, Finding, Remedy, Strength, Title, cause, ev, facts

_REFUSED = re.compile(
    r"received monitor=|conditioned on metric|could not find the monitored key|"
    r"[`'\"]?monitor[`'\"]?.{0,60}(not available|not found|does not exist)"
)
_NOT_THERE = (
    r"conditioned on metric [`'\"]?\w+[`'\"]? which is not available|"
    r"Can save best model only with \w+ available"
)
_MODEL_FILE = re.compile(r"\.(h5|hdf5|keras|ckpt|index|pt|pth|npz|pkl|pickle|safetensors|weights)$")
_BEST = re.compile(r"\w\.(best(?:_\w+)?)\b")
_NAME = re.compile(r"monitor='(\w+)'|metric [`'\"]?(\w+)|only with (\w+)|[`'\"](\w+)[`'\"]")


@cause("monitor-missing", specialises=("script-error", "callback-raised"))
def monitor_missing(evidence: Evidence) -> Finding | None:
    fit, callback, monitor = _watching(evidence)
    warned, raised = warned_of(evidence, _NOT_THERE), _raised(evidence)
    epoch = fit.epochs[-1] if fit is not None and fit.epochs else evidence.last(ev.EpochDone)
    logged = set(epoch.event.logs) if epoch is not None else set()
    if not monitor and warned is None and raised is None:
        return None
    if not monitor:
        monitor = _name(warned.text if warned is not None else str(raised and raised.values["text"]))
    fit = fit or evidence.fit
    started = fit.started if fit is not None else None
    unset = _left_unset(evidence, monitor)
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
            unset,
        ),
        [Remedy("monitor.watch-another", {"callback": callback, "metric": nearest(monitor, logged)})],
        led_to=_led_to(evidence, monitor, unset),
        ends=raised is not None,
    )


def _watching(evidence: Evidence) -> tuple[Fit | None, str, str]:
    """The first callback that acts on a metric which its fit does not log, and that metric; the last fit's first."""
    for fit in reversed(evidence.fits):
        logged = {
            name for epoch in fit.epochs for name in epoch.event.logs
        }  # validation may not come every epoch
        for one in fit.start.callbacks:
            monitor = one.get("settings", {}).get("monitor")
            if (
                monitor
                and logged
                and monitor not in logged
                and (_acts_on_it(one) or (_is_own(one) and _kept_from_writing(evidence, str(monitor))))
            ):
                return fit, str(one.get("class")), str(monitor)
    return None, "", ""


def _led_to(evidence: Evidence, monitor: str, unset: Fact | None) -> str | None:
    if _kept_from_writing(evidence, monitor):
        return "path-missing"
    return "script-error" if unset is not None or _asked_for_it(evidence, monitor) else None


def _asked_for_it(evidence: Evidence, monitor: str) -> bool:
    """The script looked for the same metric among those of the fit: `history.history["val_auc"]`."""
    error = evidence.error
    return error is not None and error.type == "KeyError" and error.message.strip("'\"") == monitor


def _left_unset(evidence: Evidence, monitor: str) -> Fact | None:
    """The script broke off on a None that a callback holds, which never saw a value: by what was at hand, else by the
    line, where it reads what a callback has found best."""
    error, seen = evidence.error, evidence.last(ev.AtHandSeen)
    if error is None or "NoneType" not in error.message or error.left != "script":
        return None
    for one in seen.event.unset if seen is not None else []:
        if seen is not None and one.get("monitor") == monitor:
            return seen.fact("callback.unset", monitor=monitor, attribute=str(one.get("attribute")))
    read = _BEST.search(error.user_code)
    values = {"monitor": monitor, "attribute": read[1] if read else ""}
    return Fact("callback.unset", values, error.source) if read else None


def _kept_from_writing(evidence: Evidence, monitor: str) -> bool:
    """The run ended because a file is not there that is written when this metric improves."""
    callback = never_written_by(evidence)
    settings = callback.get("settings", {}) if callback is not None else {}
    if callback is not None and settings.get("monitor") == monitor:
        return bool(settings.get("save_best_only")) or _is_own(callback)
    return _silent_saver(evidence, monitor)


def _silent_saver(evidence: Evidence, monitor: str) -> bool:
    """A callback of the user's own that looks at this metric, in a run that has saved nothing and misses a model."""
    error = evidence.error
    missing = [path for path in error.paths if _MODEL_FILE.search(path)] if error is not None else []
    if error is None or error.errno != errno.ENOENT or not missing or evidence.all(ev.SaveDone):
        return False
    callbacks = [one for fit in evidence.fits for one in fit.start.callbacks if _is_own(one)]
    settings = [one.get("settings", {}) for one in callbacks]
    watching = [one for one in settings if one.get("monitor") == monitor and not one.get("filepath")]
    return bool(watching)


def _is_own(callback: dict[str, Any]) -> bool:
    """It is none of Keras's: what it does with its metric is not known."""
    module = str(callback.get("module") or "")
    return bool(module) and not module.startswith(("keras", "tf_keras", "tensorflow"))


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
