"""The disk, the mount or the object store gives errors of its own."""

import errno
import re

from holdfast.explain.causes.storage.failed_saves import save_failed, saved_later
from holdfast.explain.causes.storage.object_store import SERVER_FAILED, address
from holdfast.explain.readings.error import ErrorText, Quote, user_line
from holdfast.explain.rule import Evidence, Finding, Recorded, Remedy, Strength, Title, cause, ev

#: A network file system, or one in user space, whose server or process is gone.
_GONE = (errno.ESTALE, errno.ENOTCONN, errno.EHOSTDOWN, errno.ENODEV)
_BROKEN = (errno.EIO, errno.EREMOTEIO, errno.EUCLEAN)
_WORDS = ErrorText(
    r"Input/output error|Remote I/O error|Structure needs cleaning|Stale (?:NFS )?file handle|"
    r"Transport endpoint is not connected"
)
_GONE_WORDS = re.compile(r"Stale|Transport endpoint")
_PATHS = (
    r"(?:error|handle|connected|cleaning|device): b?['\"]([^'\"]+)",
    r"(?:file)?name ?= ?'([^']+)'",
    r"(?<![\w./~-])((?:[\w.~-]*/)+[\w.~-]+); ?(?:Input/output|Stale|Transport|Remote I/O)",
)
#: Lines that print: a terminal that was closed answers with the same error as a broken disk.
_PRINTS = re.compile(r"\bprint\(|std(?:out|err)|tqdm|logging/|progbar|io_utils|rich/")
#: A socket that is not connected has no file.
_SOCKETS = re.compile(r"socket|ssl\.py|asyncio|selectors|http/")


@cause(
    "storage-failed",
    specialises=("script-error", "callback-raised", "native-crash", "corrupt-record", "checkpoint-torn"),
)
def storage_failed(evidence: Evidence) -> Finding | None:
    quote = SERVER_FAILED.match(evidence)
    if quote is not None:
        title = Title("storage-failed.server", {"address": address(evidence)})
        strength = Strength.established_if(evidence.error is not None)
        return Finding(strength, title, quote.facts, [Remedy("storage.resume-later")])
    failed = next((one for one in evidence.all(ev.SaveFailed) if one.event.errno in (*_GONE, *_BROKEN)), None)
    quote = _WORDS.match(evidence)
    if quote is not None and not _of_a_file(evidence, quote):
        quote = None
    if quote is None and failed is None:
        return None
    return _of_file_system(evidence, quote, failed)


def _of_file_system(
    evidence: Evidence, quote: Quote | None, failed: Recorded[ev.SaveFailed] | None
) -> Finding:
    path = _path(evidence, quote) or (failed.event.path if failed is not None else "")
    gone = _GONE_WORDS.search(quote.text) if quote is not None else failed and failed.event.errno in _GONE
    kind = "storage-failed.gone" if gone else "storage-failed"
    caught = quote is None and not evidence.went_wrong
    later = saved_later(evidence, failed) if caught and failed is not None else []
    facts = [*([quote.fact] if quote is not None else []), *save_failed(failed), *user_line(evidence), *later]
    remedies = [Remedy("storage.mount-again" if gone else "storage.look-at-device", {"path": path})]
    if not gone:
        remedies.append(Remedy("storage.copy-elsewhere"))
    strength = Strength.POSSIBLE if later else Strength.ESTABLISHED
    return Finding(strength, Title(kind, {"path": path}), facts, remedies, ends=not caught)


def _of_a_file(evidence: Evidence, quote: Quote) -> bool:
    """Not of a socket, and not of a terminal."""
    error = evidence.error
    if error is None or _path(evidence, quote):
        return True
    innermost = [*error.frames[-3:], error.user_code]
    return not any(_PRINTS.search(line) or _SOCKETS.search(line) for line in innermost)


def _path(evidence: Evidence, quote: Quote | None) -> str:
    """The file that the error names, else the only one that was at hand."""
    text = f"{evidence.error_text}\n{quote.text if quote is not None else ''}"
    for pattern in _PATHS:
        if found := re.search(pattern, text):
            return found[1]
    at_hand = evidence.error.paths if evidence.error is not None else ()
    return at_hand[0] if len(at_hand) == 1 else ""
