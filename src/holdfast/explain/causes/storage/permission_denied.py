"""The user may not read or write there."""

from __future__ import annotations

import os
import re

from holdfast.explain.causes.declare import Group, cause
from holdfast.explain.evidence import Evidence
from holdfast.explain.unconverted import Fact, Finding, Remedy, Strength, matched, users_line
from holdfast.explain.words import clipped
from holdfast.journal import events as ev


@cause(
    "permission-denied",
    Group.STORAGE,
    specialises=(
        "script-error",
        "callback-raised",
    ),
)
def permission_denied(evidence: Evidence) -> Finding | None:
    said = matched(
        evidence,
        r"PermissionError|Permission denied|\[Errno 13\]|PermissionDeniedError|errno ?= ?13\b|Read-only file "
        r"system|\[Errno 30\]|403 Forbidden|does not have storage\.",
    )
    failed = next((one for one in evidence.all(ev.SaveFailed) if one.event.errno in (13, 30)), None)
    if said is None and failed is None:
        return None
    text = evidence.error_text + (said[1].fact if said is not None else "")
    found = re.search(
        r"(?:denied|system|Errno 13\][^'\"]*): b?['\"]([^'\"]+)|name ?= ?'([^']+)'|([\w./~-]*/[\w./~-]+); "
        r"?Permission denied",
        text,
    )
    path = (
        next((part for part in found.groups() if part), "")
        if found
        else failed.event.path
        if failed is not None
        else ""
    )
    facts = [said[1]] if said is not None else []
    facts += (
        [Fact(f"saving {failed.event.path}: {clipped(failed.event.error, 120)}", failed.source)]
        if failed is not None
        else []
    )
    facts += users_line(evidence)
    read_only = "Read-only file system" in text or (failed is not None and failed.event.errno == 30)
    title = (
        f"{path or 'a file'} cannot be written: its file system is mounted read-only"
        if read_only
        else f"{path or 'a file'} may not be read or written by this user"
    )
    remedy = _another_disk(path) if read_only else _other_rights(path)
    saved = [one for one in evidence.all(ev.SaveDone) if failed is not None and one.line > failed.line]
    if said is None and saved and not evidence.went_wrong:  # the script caught it and had a way out
        facts.append(Fact(f"saving {saved[-1].event.path or 'again'} succeeded after it", saved[-1].source))
        return Finding("permission-denied", Strength.POSSIBLE, title, tuple(facts), (), (remedy,), ends=False)
    # A word in the log of one that stands is not why it does.
    aside = evidence.error is None and failed is None and evidence.stall is not None
    sure = Strength.POSSIBLE if aside else Strength.ESTABLISHED
    return Finding("permission-denied", sure, title, tuple(facts), (), (remedy,), ends=not aside)


def _another_disk(path: str) -> Remedy:
    folder = os.path.dirname(path) or "."
    return Remedy("write somewhere else, or mount it for writing", "your-choice", f"findmnt -T {folder}")


def _other_rights(path: str) -> Remedy:
    return Remedy(
        f"write somewhere else, or change the rights of {path}" if path else "change the rights",
        "your-choice",
        f"ls -ld {path}" if path else "",
    )
