"""The user may not read or write there."""

import errno
import os
import re

from holdfast.explain.causes.storage.failed_saves import save_failed, saved_later
from holdfast.explain.causes.storage.object_store import NO_CREDENTIALS, REFUSED, address, provider
from holdfast.explain.readings.error import ErrorText, user_line
from holdfast.explain.readings.files import is_missed
from holdfast.explain.rule import Evidence, Finding, Remedy, Strength, Title, cause, ev

_DENIED = ErrorText(
    r"PermissionError|Permission denied|\[Errno 13\]|PermissionDeniedError|errno ?= ?13\b|"
    r"Read-only file system|\[Errno 30\]|403 Forbidden|does not have storage\."
)
_PATH = re.compile(
    r"(?:denied|system|Errno 13\][^'\"]*): b?['\"]([^'\"]+)|name ?= ?'([^']+)'|"
    r"(?<![\w./~-])(?=[\w.~-]*/)([\w./~-]+); ?Permission denied"
)


@cause("permission-denied", specialises=("script-error", "callback-raised"))
def permission_denied(evidence: Evidence) -> Finding | None:
    denied = [one for one in evidence.all(ev.SaveFailed) if one.event.errno in (errno.EACCES, errno.EROFS)]
    quote, failed = _DENIED.match(evidence), next(iter(denied), None)
    if quote is None and failed is None:
        return _of_object_store(evidence)
    text = quote.whole if quote is not None else evidence.error_text
    found, saved = _PATH.search(text), failed.event.path if failed is not None else ""
    path = next((part for part in found.groups() if part), "") if found else saved
    facts = [quote.fact] if quote is not None else []
    facts += [*save_failed(failed), *user_line(evidence)]
    caught = quote is None and failed is not None and not evidence.went_wrong
    later = saved_later(evidence, failed) if caught and failed is not None else []
    # Words in the log of a stalled run are not why it stalls.
    aside = evidence.error is None and failed is None and evidence.stall is not None
    strength = Strength.POSSIBLE if later or aside else Strength.ESTABLISHED
    if "Read-only file system" in text or (failed is not None and failed.event.errno == errno.EROFS):
        title = Title("permission-denied.read-only", {"path": path})
        remedy = Remedy("path.write-elsewhere-or-mount", {"folder": os.path.dirname(path) or "."})
    else:
        title = Title("permission-denied", {"path": path})
        remedy = Remedy("path.change-permissions", {"path": path})
    missed = "path-missing" if quote is None and is_missed(evidence, saved) else None
    return Finding(strength, title, [*facts, *later], [remedy], led_to=missed, ends=not (later or aside))


def _of_object_store(evidence: Evidence) -> Finding | None:
    """A bucket, or a hub of models: no credentials, others, or not for this."""
    unknown = NO_CREDENTIALS.match(evidence)
    quote = unknown or REFUSED.match(evidence)
    if quote is None:
        return None
    strength = Strength.established_if(evidence.error is not None)
    if unknown is not None:
        title = Title("permission-denied.credentials", {"address": address(evidence)})
        return Finding(
            strength, title, quote.facts, [Remedy("credentials.log-in", {"of": provider(evidence)})]
        )
    title = Title("permission-denied.bucket", {"address": address(evidence)})
    return Finding(strength, title, quote.facts, [Remedy("credentials.allow", {"of": provider(evidence)})])
