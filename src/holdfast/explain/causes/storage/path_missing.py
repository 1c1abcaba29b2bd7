"""A file, a folder or a bucket is not there."""

import errno
import os
import re

from holdfast.explain.causes.storage.object_store import NOT_THERE, address
from holdfast.explain.readings.error import ErrorText, Quote, Raised, is_there, user_line
from holdfast.explain.readings.files import never_written_fact
from holdfast.explain.readings.stacks import stalled_thread
from holdfast.explain.rule import Evidence, Fact, Finding, Remedy, Strength, Title, cause, ev

_NOT_FOUND = ErrorText(
    r"FileNotFoundError|No such file or directory|\[Errno 2\]|NotFoundError:[^\n]*?(file|[Dd]irectory|path|/)|"
    r"No files matched pattern|can't open file '([^']+)'|File system scheme '\w+' not implemented|"
    r"NotADirectoryError|SavedModel file does not exist|not found: filepath=|bucket.*(does not exist|not found)|"
    # What programs say themselves, when a path follows or leads.
    r"(?i:(?:did not|could not|couldn't|cannot|can't|unable to|failed to) (?:find|locate) [^'\"/]{0,60}"
    r"\b(?:files?|images?|folders?|director(?:y|ies)|paths?|checkpoints?)\b[^'\"/]{0,60}['\"][^'\"]*/)|"
    r"(?i:\bno (?:\w+ ){0,2}files? (?:(?:were|was) )?(?:found|match)[^'\"/]{0,60}['\"]?[^'\"\s]*/)|"
    r"(?i:['\"/][^'\"\s/]*/[^'\"\s]{0,400}['\"]? (?:does not|doesn't) exist)|" + NOT_THERE
)
#: A library that is not installed, or a file that is there and may not be read.
_OTHER_CAUSES = (
    r"libcu|libnv|cudart|\.so\b|No module named|Permission denied|on the Hub\b|LocalEntryNotFound|"
    r"Found no valid file for"
)
_WRITES = re.compile(
    r"""open\(.*,\s*(mode\s*=\s*)?['"][wax][bt+]*['"]|\.(write_text|write_bytes|to_csv|to_json|savefig)\("""
)
_ENVIRON = re.compile(r"os\.environ|<frozen os>|/os\.py")
#: Where the words of Python, Keras and TensorFlow have the path, the most exact first.
_PATHS = (
    r"No such file or directory: b?['\"]([^'\"]+)",
    r"can't open file '([^']+)'",
    r"No files matched pattern: (\S+)",
    r"filepath=([^\s,]+)",
    r"SavedModel file does not exist at:? ([^\s{]+)",
    r"(?<!\S)(\S+); No such file",
    r"NotFoundError:.*?(?<![\w./~-])([\w./~-]*/[\w./~*-]+)",
    r"File system scheme '(\w+)'",
    r"['\"]([^'\"]*/[^'\"]+)['\"]",
)


@cause("path-missing", specialises=("script-error", "callback-raised", "dataset-empty"))
def path_missing(evidence: Evidence) -> Finding | None:
    quote, error = _NOT_FOUND.match(evidence), evidence.error
    if quote is not None and quote.says(_OTHER_CAUSES):
        return None
    waits = stalled_thread(evidence, lambda one: one.main and bool(one.within("wait_for_new_checkpoint")))
    if waits is not None and waits.trains:
        facts = [*(quote.facts if quote is not None else user_line(evidence))]
        facts.append(Fact("checkpoint.awaited", {}, waits.reading.source))
        remedies = [Remedy("path.check", {"path": _path(_text(evidence, quote))})]
        return Finding(Strength.ESTABLISHED, Title("path-missing.checkpoint"), facts, remedies)
    if error is not None and error.type == "KeyError" and any(map(_ENVIRON.search, error.frames)):
        return _variable(evidence, error, quote)
    return _named(evidence, quote) if quote is not None else None


def _named(evidence: Evidence, quote: Quote) -> Finding | None:
    """The error names the path."""
    text = _text(evidence, quote)
    path = _path(text) or address(evidence)
    if "filepath=" in text and is_there(evidence, path):
        return None  # Keras says the same of a file that is there and corrupt
    remedies = [Remedy("path.check", {"path": path})]
    if "scheme" in text and "not implemented" in text:
        title = Title("path-missing.scheme", {"scheme": path})
    elif folder := _folder_to_write_to(evidence, path):
        title = Title("path-missing.folder", {"path": path, "folder": folder})
        remedies = [Remedy("folder.make", {"folder": folder}), Remedy("folder.find-what-removed-it")]
    else:
        title = Title("path-missing", {"path": path})
    written = never_written_fact(evidence)
    facts = [*quote.facts, *([written] if written is not None else [])]
    if re.search(r"(^|/)None/", path):
        facts.append(Fact("path.holds-none", {}, quote.source if evidence.error is not None else ""))
    strength = Strength.established_if(evidence.error is not None or quote.says("can't open file"))
    if evidence.log and quote.says("filepath="):  # or it is there and corrupt: nobody looked
        strength = Strength.POSSIBLE
    return Finding(strength, title, facts, remedies)


def _variable(evidence: Evidence, error: Raised, quote: Quote | None) -> Finding:
    """A variable of the environment that is not set."""
    name = {"name": error.message.strip("'\"")}
    facts = [Fact("error.quoted", {"text": f"KeyError: {error.message}"}, error.source)]
    facts += quote.facts if quote is not None else user_line(evidence)
    remedies = [Remedy("variable.set", name)]
    return Finding(Strength.ESTABLISHED, Title("path-missing.variable", name), facts, remedies)


def _folder_to_write_to(evidence: Evidence, path: str) -> str:
    """Of a file that was to be written, which need not be there: it is its folder that is missing."""
    failed = [save.event for save in evidence.all(ev.SaveFailed) if save.event.errno == errno.ENOENT]
    code = evidence.error.user_code if evidence.error is not None else ""
    saving = any(save.path == path for save in failed) or _WRITES.search(code)
    return os.path.dirname(path) if saving else ""


def _text(evidence: Evidence, quote: Quote | None) -> str:
    return evidence.error_text or (quote.text if quote is not None else "")


def _path(text: str) -> str:
    text = re.sub(
        r"\{\{[^{}]*\}\}", "", text
    )  # TensorFlow names the node first, and a device looks like a path
    for pattern in _PATHS:
        if found := re.search(pattern, text):
            return found[1].rstrip(".")
    return ""
