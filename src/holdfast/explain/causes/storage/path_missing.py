"""A file, a folder or a bucket is not there."""

from __future__ import annotations

import errno
import os
import re

from holdfast.explain.readings.error import ErrorText, Quote, is_there, user_line
from holdfast.explain.readings.stacks import stalled_thread
from holdfast.explain.rule import Evidence, Fact, Finding, Remedy, Strength, Title, cause, ev

_NOT_FOUND = ErrorText(
    r"FileNotFoundError|No such file or directory|\[Errno 2\]|NotFoundError:.*(file|[Dd]irectory|path|/)|No "
    r"files matched pattern|"
    r"can't open file '([^']+)'|File system scheme '\w+' not implemented|NotADirectoryError|not found: "
    r"filepath=|bucket.*(does not exist|not found)"
)
#: A library that is not installed, or a file that is there and may not be read.
_OTHER_CAUSES = r"libcu|libnv|cudart|\.so\b|No module named|Permission denied"
_WRITES = re.compile(
    r"""open\(.*,\s*(mode\s*=\s*)?['"][wax][bt+]*['"]|\.(write_text|write_bytes|to_csv|to_json|savefig)\("""
)
#: Where the words of Python, Keras and TensorFlow have the path, the most exact first.
_PATHS = (
    r"No such file or directory: b?['\"]([^'\"]+)",
    r"can't open file '([^']+)'",
    r"No files matched pattern: (\S+)",
    r"filepath=([^\s,]+)",
    r"(\S+); No such file",
    r"NotFoundError:.*?([\w./~-]*/[\w./~*-]+)",
    r"File system scheme '(\w+)'",
    r"['\"]([^'\"]*/[^'\"]+)['\"]",
)


@cause("path-missing", specialises=("script-error", "callback-raised", "dataset-empty"))
def path_missing(evidence: Evidence) -> Finding | None:
    quote = _NOT_FOUND.match(evidence)
    if quote is not None and quote.says(_OTHER_CAUSES):
        return None
    waits = _waits_for_checkpoint(evidence)
    if waits is not None:
        facts = ([quote.fact] if quote is not None else []) + [*user_line(evidence), waits]
        title = Title("path-missing.checkpoint")
        return _finding(Strength.ESTABLISHED, title, facts, _path(_text(evidence, quote)))
    if _environment(evidence):
        return _variable(evidence, quote)
    return _named(evidence, quote) if quote is not None else None


def _named(evidence: Evidence, quote: Quote) -> Finding | None:
    """The error names the path."""
    text = _text(evidence, quote)
    path = _path(text)
    if "filepath=" in text and is_there(evidence, path):
        return None  # Keras says the same of a file that is there and corrupt
    folder = ""
    if "scheme" in text and "not implemented" in text:
        title = Title("path-missing.scheme", {"scheme": path})
    elif folder := _folder_to_write_to(evidence, path):
        title = Title("path-missing.folder", {"path": path, "folder": folder})
    else:
        title = Title("path-missing", {"path": path})
    facts = [quote.fact, *user_line(evidence)]
    if re.search(r"(^|/)None/", path):
        facts.append(Fact("path.holds-none", {}, quote.source if evidence.error is not None else ""))
    certain = evidence.error is not None or quote.says("can't open file")
    strength = Strength.ESTABLISHED if certain else Strength.SUPPORTED
    return _finding(strength, title, facts, path, folder)


def _variable(evidence: Evidence, quote: Quote | None) -> Finding:
    error = evidence.error
    assert error is not None
    name = error.message.strip("'\"")
    facts = [Fact("error.quoted", {"text": f"KeyError: {error.message}"}, error.source)]
    facts += [quote.fact] if quote is not None else []
    facts += user_line(evidence)
    return Finding(
        Strength.ESTABLISHED,
        Title("path-missing.variable", {"name": name}),
        because=facts,
        remedies=[Remedy("variable.set", {"name": name}), Remedy("recipe.check", safety="automatic")],
    )


def _finding(strength: Strength, title: Title, facts: list[Fact], path: str, folder: str = "") -> Finding:
    if folder:
        remedies = Remedy("folder.make", {"folder": folder}), Remedy("folder.find-what-removed-it")
    else:
        remedies = Remedy("path.check", {"path": path}), Remedy("recipe.check", safety="automatic")
    return Finding(strength, title, facts, remedies)


def _environment(evidence: Evidence) -> bool:
    """A variable of the environment that is not set."""
    error = evidence.error
    if error is None or error.type != "KeyError":
        return False
    return any("os.environ" in frame or "<frozen os>" in frame or "/os.py" in frame for frame in error.frames)


def _waits_for_checkpoint(evidence: Evidence) -> Fact | None:
    found = stalled_thread(
        evidence, lambda thread: thread.main and thread.within("wait_for_new_checkpoint") is not None
    )
    return Fact("checkpoint.awaited", {}, found.source) if found is not None and found.trains else None


def _folder_to_write_to(evidence: Evidence, path: str) -> str:
    """Of a file that was to be written, which need not be there: it is its folder that is missing."""
    saving = any(
        save.event.errno == errno.ENOENT and save.event.path == path for save in evidence.all(ev.SaveFailed)
    )
    code = evidence.error.user_code if evidence.error is not None else ""
    return os.path.dirname(path) if saving or _WRITES.search(code) else ""


def _text(evidence: Evidence, quote: Quote | None) -> str:
    if evidence.error is not None:
        return evidence.error.text
    return quote.text if quote is not None else ""


def _path(text: str) -> str:
    text = re.sub(r"\{\{.*?\}\}", "", text)  # TensorFlow names the node first, and a device looks like a path
    for pattern in _PATHS:
        if found := re.search(pattern, text):
            return found[1].rstrip(".")
    return ""
