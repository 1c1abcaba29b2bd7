"""A file system is full."""

import errno
import re
from dataclasses import replace

from holdfast.explain.causes.storage.failed_saves import save_failed, saved_later
from holdfast.explain.readings.error import FULL_DISK, Quote, file_named, user_line
from holdfast.explain.readings.files import is_missed
from holdfast.explain.readings.limits import (
    in_shared_memory,
    low_disks,
    mapping_without_space,
    rlimit,
    space_fact,
)
from holdfast.explain.remedies import Before, resume
from holdfast.explain.rule import Evidence, Fact, Finding, Recorded, Remedy, Strength, Title, cause, ev

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
#: The words for a limit on the size of one file: the disk may have space left.
_FILE_SIZE_LIMIT = re.compile(r"File too large|rrno ?=? ?27\b")
#: Words that nothing but a full disk explains; "requested and written" and "tempstate" are weaker.
_CERTAIN = re.compile(r"2[78]|No space|quota|too large")
#: The text of an exception, and no sentence of the script's own.
_FROM_SYSTEM = re.compile(r"[Ee]rrno \d+|OSError|IOError|: '[^']+'$")
_PATHS = (r"(?:name|filename) ?= ?'([^']+)'", r"No space left on device[^'\n]*'([^']+)'")
#: A disk with less free space than this is shown as full. Chosen: it separates the full disks of the test programs
#: (a file system of 2 MiB) from small disks that are in order; no measurement on real runs is behind it.
_LOW_DISK_BYTES = 8 << 20
#: A save that failed with less free space than this ran out of it, whatever the error says: torch's says "unexpected
#: pos". The smallest checkpoint is larger.
_NO_SPACE_BYTES = 64 << 10


@cause("disk-full", specialises=("script-error", "native-crash", "callback-raised"))
def disk_full(evidence: Evidence) -> Finding | None:
    mapped = mapping_without_space(evidence)
    if mapped is not None:
        return None if in_shared_memory(mapped) else _of_mapped(evidence, mapped)
    failed, quote = _failed_save(evidence), FULL_DISK.match(evidence)
    by_signal = evidence.exit_signal == "SIGXFSZ"
    error = evidence.error
    by_errno = error is not None and error.errno in _FULL
    of_save = failed is not None and error is not None and failed.event.error.startswith(f"{error.type}: ")
    ended_so = quote is not None or by_signal or by_errno or of_save
    if not (evidence.went_wrong or evidence.stall) or not ended_so:
        return _caught(evidence, failed) if failed is not None else _printed(evidence)
    text = quote.whole if quote is not None else evidence.error_text
    if "/dev/shm" in text and failed is None:
        return None
    limit = by_signal or _is_limit(failed, text)
    facts = [quote.fact] if quote is not None else []
    facts += [*save_failed(failed), *user_line(evidence), *low_disks(evidence, _LOW_DISK_BYTES)]
    allowed = rlimit(evidence, "fsize") if limit else None
    facts += [Fact("limit.file-size", {"limit_bytes": allowed.value}, allowed.source)] if allowed else []
    if evidence.exit_signal in ("SIGSEGV", "SIGXFSZ"):
        facts.append(Fact("disk-full.crash", {"signal": evidence.exit_signal}, evidence.exit_source))
    worded = quote is not None and _CERTAIN.search(quote.match[0]) is not None
    path = failed.event.path if failed is not None else _path(evidence, quote)
    strength = Strength.established_if(failed is not None or by_errno or by_signal or worded)
    return _finding(evidence, strength, facts, path, limit=limit)


def _of_mapped(evidence: Evidence, mapped: Recorded[ev.MappedFileSeen]) -> Finding:
    """A sparse file in memory: its size was promised, and the page that was written to got no space."""
    crash = Fact("disk-full.crash", {"signal": evidence.exit_signal}, evidence.exit_source)
    fatal = evidence.fatal
    facts = [space_fact(mapped), crash]
    if fatal is not None and fatal.where:
        facts.append(
            Fact("crash.user-line", {"where": fatal.where, "outside": not fatal.in_python}, fatal.source)
        )
    return Finding(
        Strength.ESTABLISHED,
        Title("disk-full", {"path": mapped.event.path, "caught": False}),
        facts,
        [Remedy("disk.make-room"), Remedy("file.reserve-first", {"path": mapped.event.path})],
    )


def _caught(evidence: Evidence, failed: Recorded[ev.SaveFailed]) -> Finding:
    """The script caught it and continued; what ended it, if anything did, is another matter."""
    later = saved_later(evidence, failed, same_kind=True)  # a history in another file is no model saved
    strength = Strength.POSSIBLE if later else Strength.ESTABLISHED
    facts = [*save_failed(failed), *later, *low_disks(evidence, _LOW_DISK_BYTES)]
    limit = _is_limit(failed, "")
    found = _finding(evidence, strength, facts, failed.event.path, limit=limit, caught=True)
    return replace(found, led_to="path-missing") if is_missed(evidence, failed.event.path) else found


def _printed(evidence: Evidence) -> Finding | None:
    line = None if evidence.went_wrong else evidence.output.last(FULL_DISK.pattern)
    if line is None or evidence.all(ev.SaveDone) or "/dev/shm" in line.text:
        return None
    limit = re.search(r"27\b|too large", line.text) is not None
    low = low_disks(evidence, _LOW_DISK_BYTES)
    facts = [line.fact, *low]
    # The words alone may be the script's own message about something it has dealt with.
    strength = Strength.supported_if(bool(low) or _FROM_SYSTEM.search(line.text) is not None)
    return _finding(evidence, strength, facts, file_named(line.text), limit=limit, caught=True)


def _failed_save(evidence: Evidence) -> Recorded[ev.SaveFailed] | None:
    for save in reversed(evidence.all(ev.SaveFailed)):
        event = save.event
        no_space = event.free_bytes is not None and event.free_bytes < _NO_SPACE_BYTES
        if event.errno in _FULL or no_space or re.search(r"\d+ requested and \d+ written", event.error):
            return save
    return None


def _is_limit(failed: Recorded[ev.SaveFailed] | None, text: str) -> bool:
    if failed is not None and failed.event.errno is not None:
        return failed.event.errno == errno.EFBIG
    return _FILE_SIZE_LIMIT.search(text) is not None


def _finding(
    evidence: Evidence, strength: Strength, facts: list[Fact], path: str, *, limit: bool, caught: bool = False
) -> Finding:
    title = Title("disk-full.file-size-limit" if limit else "disk-full", {"path": path, "caught": caught})
    first = Remedy("limit.raise-file-size") if limit else Remedy("disk.make-room")
    again = resume(evidence, before=Before.RAISE_LIMIT if limit else Before.MAKE_ROOM)
    return Finding(strength, title, facts, [first, again or Remedy("checkpoint.keep-fewer")], ends=not caught)


def _path(evidence: Evidence, quote: Quote | None) -> str:
    line = quote.text if quote is not None else ""
    for pattern in _PATHS:
        if found := re.search(pattern, line + evidence.error_text):
            return found[1]
    saving = evidence.last(ev.SaveStarted)
    return saving.event.path if saving is not None else file_named(line)
