"""The user may not read or write there."""

from __future__ import annotations

import errno
import os
import re

from holdfast.explain.readings.error import ErrorText, user_line
from holdfast.explain.rule import Evidence, Fact, Finding, Recorded, Remedy, Strength, Title, cause, ev

_DENIED = ErrorText(
    r"PermissionError|Permission denied|\[Errno 13\]|PermissionDeniedError|errno ?= ?13\b|Read-only file "
    r"system|\[Errno 30\]|403 Forbidden|does not have storage\."
)
_PATH = re.compile(
    r"(?:denied|system|Errno 13\][^'\"]*): b?['\"]([^'\"]+)|name ?= ?'([^']+)'|([\w./~-]*/[\w./~-]+); "
    r"?Permission denied"
)


@cause("permission-denied", specialises=("script-error", "callback-raised"))
def permission_denied(evidence: Evidence) -> Finding | None:
    quote, failed = _DENIED.match(evidence), _failed_save(evidence)
    if quote is None and failed is None:
        return None
    text = quote.whole if quote is not None else evidence.error_text
    found = _PATH.search(text)
    path = next((part for part in found.groups() if part), "") if found else _saved_path(failed)
    read_only = "Read-only file system" in text or (failed is not None and failed.event.errno == errno.EROFS)
    facts = [quote.fact] if quote is not None else []
    facts += [*_save(failed), *user_line(evidence)]
    strength, ends = Strength.ESTABLISHED, True
    later = [one for one in evidence.all(ev.SaveDone) if failed is not None and one.line > failed.line]
    if quote is None and later and not evidence.went_wrong:  # the script caught it and had a way out
        facts.append(Fact("save.succeeded-later", {"path": later[-1].event.path}, later[-1].source))
        strength, ends = Strength.POSSIBLE, False
    elif evidence.error is None and failed is None and evidence.stall is not None:
        strength, ends = Strength.POSSIBLE, False  # words in the log of a stalled run are not why it stalls
    return Finding(
        strength,
        Title("permission-denied.read-only" if read_only else "permission-denied", {"path": path}),
        because=facts,
        remedies=[_remedy(path, read_only=read_only)],
        ends=ends,
    )


def _failed_save(evidence: Evidence) -> Recorded[ev.SaveFailed] | None:
    denied = (errno.EACCES, errno.EROFS)
    return next((one for one in evidence.all(ev.SaveFailed) if one.event.errno in denied), None)


def _saved_path(failed: Recorded[ev.SaveFailed] | None) -> str:
    return failed.event.path if failed is not None else ""


def _save(failed: Recorded[ev.SaveFailed] | None) -> list[Fact]:
    if failed is None:
        return []
    values = {"path": failed.event.path, "where": "", "error": failed.event.error, "free_bytes": None}
    return [Fact("save.failed", values, failed.source)]


def _remedy(path: str, *, read_only: bool) -> Remedy:
    if read_only:
        return Remedy("path.write-elsewhere-or-mount", {"folder": os.path.dirname(path) or "."})
    return Remedy("path.change-permissions", {"path": path})
