"""Another process has locked the file."""

from holdfast.explain.readings.error import ErrorText
from holdfast.explain.rule import Evidence, Finding, Remedy, Strength, Title, cause

_LOCKED = ErrorText(
    r"unable to lock file|errno ?= ?(11|37|35)\b.*lock|BlockingIOError|\[Errno (11|37)\].*(lock|open)|"
    r"Resource temporarily unavailable.*(file|h5|lock)|database is locked"
)
_THREADS = r"fork|pthread|thread"  # too many of them are refused with the same words
_ENDINGS = r"h5|hdf5|keras|db|sqlite3?"


@cause("file-locked", specialises=("script-error", "callback-raised"))
def file_locked(evidence: Evidence) -> Finding | None:
    quote = _LOCKED.match(evidence)
    if quote is None or quote.says(_THREADS):
        return None
    values = {"file": quote.file(_ENDINGS)}
    if quote.says("database is locked"):  # by a connection that may be of this very process
        title = Title("file-locked.database", values)
        remedies = [Remedy("database.close-the-other"), Remedy("database.wait-longer")]
    else:
        no_locks = quote.says("37") or "No locks available" in evidence.error_text
        title = Title("file-locked.not-supported" if no_locks else "file-locked", values)
        remedies = [Remedy("file.end-the-other-process"), Remedy("file.without-locks")]
    return Finding(Strength.ESTABLISHED, title, quote.facts, remedies)
