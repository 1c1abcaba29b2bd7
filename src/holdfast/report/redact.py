"""Leaves out of a story and a verdict what a stranger need not see: paths, host, environment, output, images."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

from holdfast.report.series import Mark
from holdfast.report.story import RunTimeline

#: A path of two parts or more: its last part stays, since it often is the very thing that matters.
_PATH = re.compile(
    r"(?:~|(?:[a-z][a-z0-9+]*:/)|(?<![\w.]))/(?:[^\s/'\",:;()\[\]<>]+/)+([^\s/'\",:;()\[\]<>]*)"
)
_EDITED = re.compile(r"^(script: [^`]*?): (`|nothing before).*$", re.DOTALL)
_HIDDEN_ROWS = {"environment", "executable", "host", "cwd", "versions"}


def text(value: str, host: str = "") -> str:
    shorter = _PATH.sub(r"…/\1", value)
    return shorter.replace(host, "(host)") if len(host) > 2 else shorter


def anything(value: Any, host: str = "") -> Any:
    """The same for every string inside."""
    if isinstance(value, str):
        return text(value, host)
    if isinstance(value, dict):
        return {key: anything(one, host) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [anything(one, host) for one in value]
    return value


def verdict(told: dict[str, Any], host: str = "") -> dict[str, Any]:
    """Of what changed since the last good run neither the environment nor lines of the script."""
    hidden = ("environment:", "machine: host:", "command:")
    changes = [one for one in told.get("since_last_good", []) if not one.startswith(hidden)]
    shown: dict[str, Any] = anything(
        {**told, "since_last_good": [_EDITED.sub(r"\1 was edited", one) for one in changes]}, host
    )
    return shown


def story(whole: RunTimeline) -> RunTimeline:
    host = whole.host
    return replace(
        whole,
        host="",
        command=text(whole.command, host),
        marks=[Mark(mark.at, mark.kind, text(mark.label, host)) for mark in whole.marks],
        tables={
            title: [(name, text(value, host)) for name, value in rows if name not in _HIDDEN_ROWS]
            for title, rows in whole.tables.items()
        },
        stacks=[(title, text(body, host)) for title, body in whole.stacks],
        output_tail="",
        recipe=text(whole.recipe, host),
        dataset=anything(whole.dataset, host),
        validation={k: anything(v, host) for k, v in whole.validation.items() if k != "pictures"},
    )
