"""Leaves out of a story and a verdict what a stranger need not see: paths, host, environment, output, images."""

from __future__ import annotations

import re
import shlex
from dataclasses import replace
from typing import Any

from holdfast.report.series import Mark
from holdfast.report.story import RunTimeline
from holdfast.secret_text import redacted

# Each pattern begins at the beginning of a word or has a bounded length: one word of a megabyte is looked through once.
_PART = r"[^\s/\\'\",:;()\[\]<>`=]+"
#: An address: the last part of its path stays. Host, user and what follows a question mark go.
_URL = re.compile(r"\b([a-z][a-z0-9+.-]{0,30}:)//[^\s'\"<>`]+", re.IGNORECASE)
#: Within quotation marks a path may have spaces.
_QUOTED_PATH = re.compile(r"(['\"`])(?:~|[A-Za-z]:|\.{0,2})[/\\](?:[^'\"`\n]*[/\\])?([^/\\'\"`\n]*)\1")
#: A path of two parts or more, also relative or of Windows: its last part stays, since it often is what matters.
_PATH = re.compile(
    r"(?<![^\s'\",:;()\[\]<>`=])"
    rf"(?:~{_PART}?|[A-Za-z]:|\.{{1,2}}|{_PART})?(?:[/\\]+(?:{_PART} )?{_PART})*[/\\]+({_PART})(:\d+)?"
)
_HOME = re.compile(r"(?<!\w)(?:/home/|/Users/|~)[^\s/'\"]{1,64}(?![/\w])")
_ADDRESS = re.compile(r"(?<![\w.])(?:\d{1,3}\.){3}\d{1,3}(?::\d+)?(?![\w.])")
_NUMBERS = re.compile(r"[\d.,%/]+$")  # 12/100, which is no path
#: A name with dots that ends as hosts do, not as files do.
_HOST = re.compile(
    r"(?<![\w./@-])(?:[a-z0-9](?:[a-z0-9-]*[a-z0-9])?\.)+"
    r"(?:com|net|org|io|ai|dev|cloud|edu|gov|de|uk|eu|fr|internal|local|localdomain|lan|corp|example|svc|intra|home)\b(?::\d+)?",
    re.IGNORECASE,
)
_MAIL = re.compile(r"(?<![\w.+-])[\w.+-]+@[\w-]+(?:\.[\w-]+)+")
_EDITED = re.compile(r"^(script: [^`]*?): (`|nothing before).*$", re.DOTALL)
_HIDDEN_ROWS = {"environment", "executable", "host", "cwd", "versions"}


def text(value: str, host: str = "") -> str:
    shown = redacted(value)
    shown = _URL.sub(_last_of_address, shown)
    shown = _MAIL.sub("(address)", shown)
    shown = _QUOTED_PATH.sub(lambda match: f"{match[1]}…/{match[2]}{match[1]}", shown)
    shown = _HOME.sub("…", shown)
    shown = _PATH.sub(_last_part, shown)
    shown = _ADDRESS.sub("(host)", shown)
    shown = _HOST.sub("(host)", shown)
    return shown.replace(host, "(host)") if len(host) > 2 else shown


def _last_of_address(match: re.Match[str]) -> str:
    inner = re.split(r"[?#;]", match[0][len(match[1]) + 2 :])[0].rstrip("/.,")
    _host, slash, path = inner.partition("/")
    return f"…/{path.rpartition('/')[2]}" if slash else f"{match[1]}…"


def _last_part(match: re.Match[str]) -> str:
    whole = match[0]
    if _NUMBERS.match(whole) or whole.startswith("…/"):
        return whole
    return f"…/{match[1]}{match[2] or ''}"


def command(value: str) -> str:
    """The program, the script and the names of options; what they are set to may be anything."""
    try:
        words = shlex.split(value)
    except ValueError:
        words = value.split()
    kept: list[str] = []
    for place, word in enumerate(words):
        name, equals, _ = word.partition("=")
        if word.startswith("-"):
            kept.append(f"{name}=…" if equals else name)
        elif place == 0 or word.endswith((".py", ".sh", ".toml", ".ipynb")):
            kept.append(re.split(r"[/\\]", word)[-1])
        elif not kept or kept[-1] != "…":
            kept.append("…")
    return " ".join(kept)


def anything(value: Any, host: str = "") -> Any:
    """The same for every string inside."""
    if isinstance(value, str):
        return text(value, host)
    if isinstance(value, dict):
        return {key: anything(one, host) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [anything(one, host) for one in value]
    return value


def verdict(found: dict[str, Any], host: str = "") -> dict[str, Any]:
    """Of what changed since the last good run neither the environment nor lines of the script."""
    hidden = ("environment:", "machine: host:", "command:")
    changes = [one for one in found.get("since_last_good", []) if not one.startswith(hidden)]
    shown: dict[str, Any] = anything(
        {**found, "since_last_good": [_EDITED.sub(r"\1 was edited", one) for one in changes]}, host
    )
    return shown


def story(whole: RunTimeline) -> RunTimeline:
    host = whole.host
    return replace(
        whole,
        host="",
        command=command(whole.command),
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
