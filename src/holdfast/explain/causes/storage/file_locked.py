"""Another process has locked the file."""

import re

from holdfast.explain.readings.error import ErrorText
from holdfast.explain.readings.limits import cannot_start
from holdfast.explain.readings.stacks import ThreadState, silence, stalled_thread
from holdfast.explain.rule import Evidence, Finding, Remedy, Strength, Title, cause

_LOCKED = ErrorText(
    r"unable to lock file|errno ?= ?(11|37|35)\b.*lock|BlockingIOError|\[Errno (11|37)\].*(lock|open)|"
    r"Resource temporarily unavailable.*(file|h5|lock)|database is locked"
)
_THREADS = r"fork|pthread|thread"  # too many of them are refused with the same words
_WAITS = re.compile(r"(?:flock|fcntl)\b[^(]*\((?P<file>[^()]*)\)")
_WAITS_IN_KERNEL = re.compile(r"locks_lock_inode_wait|flock_lock|posix_lock|fcntl_setlk|nlmclnt")
_ENDINGS = r"h5|hdf5|keras|db|sqlite3?"


@cause("file-locked", specialises=("script-error", "callback-raised"))
def file_locked(evidence: Evidence) -> Finding | None:
    quote = _LOCKED.match(evidence)
    if quote is None or quote.says(_THREADS) or cannot_start(evidence):
        return _waits_for_lock(evidence)
    values = {"file": quote.file(_ENDINGS)}
    if quote.says("database is locked"):  # by a connection that may be of this very process
        title = Title("file-locked.database", values)
        remedies = [Remedy("database.close-the-other"), Remedy("database.wait-longer")]
    else:
        no_locks = quote.says("37") or "No locks available" in evidence.error_text
        title = Title("file-locked.not-supported" if no_locks else "file-locked", values)
        remedies = [Remedy("file.end-the-other-process"), Remedy("file.without-locks")]
    return Finding(Strength.ESTABLISHED, title, quote.facts, remedies)


def _waits_for_lock(evidence: Evidence) -> Finding | None:
    """It asked for the lock without a time limit, and waits."""
    waiting = stalled_thread(evidence, _is_in_lock)
    if waiting is None or not waiting.thread.main:
        return None
    call = _WAITS.match(waiting.thread.syscall)
    return Finding(
        Strength.ESTABLISHED,
        Title("file-locked.waits", {"file": call["file"] if call is not None else ""}),
        because=[*silence(evidence), waiting.fact],
        remedies=[Remedy("file.end-the-other-process"), Remedy("file.lock-with-timeout")],
    )


def _is_in_lock(thread: ThreadState) -> bool:
    return not thread.busy and bool(_WAITS.match(thread.syscall) or _WAITS_IN_KERNEL.search(thread.wait))
