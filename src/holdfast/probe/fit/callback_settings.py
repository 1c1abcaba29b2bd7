"""What a callback is: its class, where it is written, and its settings."""

from __future__ import annotations

import re
from typing import Any

from ..runtime import user_lines

_SETTINGS = (
    "monitor", "patience", "min_delta", "mode", "baseline", "start_from_epoch", "restore_best_weights", "factor",
    "min_lr", "cooldown", "filepath", "_current_filepath", "save_freq", "save_best_only", "save_weights_only",
    "backup_dir", "delete_checkpoint", "double_checkpoint", "log_dir", "filename", "update_freq", "histogram_freq",
    "verbose", "best", "wait", "stopped_epoch", "best_epoch", "cooldown_counter",
)  # fmt: skip


_FILE_NAME = re.compile(r"path|file|target|save|dest|weights|ckpt|checkpoint|best|out", re.IGNORECASE)
_FILE = re.compile(r"\.[A-Za-z][A-Za-z0-9]{0,9}$")


def describe(callback: Any) -> dict[str, Any]:
    kind = type(callback)
    location = user_lines.of_class(kind)
    file, _, line = location.rpartition(":")
    return {
        "class": kind.__name__,
        "module": kind.__module__,
        "file": file or location,
        "line": int(line) if line.isdigit() else None,
        "settings": settings_of(callback),
    }


def settings_of(callback: Any) -> dict[str, Any]:
    values = vars(callback) if hasattr(callback, "__dict__") else {}
    settings: dict[str, Any] = {}
    for name in _SETTINGS:
        value = values.get(name, values.get("_" + name))
        if isinstance(value, (str, int, float, bool)):
            settings[name.lstrip("_")] = value
        elif value is not None and hasattr(value, "__fspath__"):
            settings[name.lstrip("_")] = str(value)
    if "filepath" not in settings and "filename" not in settings:
        own = _own_file(values)
        if own:
            settings["filepath"] = own
    return settings


def _own_file(values: dict[str, Any]) -> str:
    """What a callback of the user's own writes to: its only attribute that is named, or looks, as a file does."""
    found = set()
    for name, value in values.items():
        text = str(value) if hasattr(value, "__fspath__") or isinstance(value, str) else ""
        named = _FILE_NAME.search(name) is not None or hasattr(value, "__fspath__")
        if text and named and _FILE.search(text):
            found.add(text)
    return found.pop() if len(found) == 1 else ""
