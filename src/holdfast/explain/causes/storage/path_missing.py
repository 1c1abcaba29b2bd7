"""A file, a folder or a bucket is not there."""

from __future__ import annotations

import os
import re

from holdfast.explain.causes.declare import Group, cause
from holdfast.explain.evidence import Evidence
from holdfast.explain.readings.error import is_there
from holdfast.explain.unconverted import Fact, Finding, Remedy, Strength, matched, users_line
from holdfast.journal import events as ev


@cause(
    "path-missing",
    Group.STORAGE,
    specialises=(
        "script-error",
        "callback-raised",
        "dataset-empty",
    ),
)
def path_missing(evidence: Evidence) -> Finding | None:
    said = matched(
        evidence,
        r"FileNotFoundError|No such file or directory|\[Errno 2\]|NotFoundError:.*(file|[Dd]irectory|path|/)|No "
        r"files matched pattern|"
        r"can't open file '([^']+)'|File system scheme '\w+' not implemented|NotADirectoryError|not found: "
        r"filepath=|bucket.*(does not exist|not found)",
    )
    environment = (
        evidence.error is not None
        and evidence.error.type == "KeyError"
        and any(
            "os.environ" in frame or "<frozen os>" in frame or "/os.py" in frame
            for frame in evidence.error.frames
        )
    )
    waits = (
        evidence.stacks.main.within("wait_for_new_checkpoint")
        if evidence.stacks is not None and evidence.stacks.main is not None
        else None
    )
    if said is None and not environment and waits is None:
        return None
    if said is not None and re.search(
        r"libcu|libnv|cudart|\.so\b|No module named|Permission denied", said[1].fact
    ):
        return None
    error = evidence.error
    text = error.text if error is not None else said[1].fact if said is not None else ""
    path = _path(text)
    if "filepath=" in text and is_there(evidence, path):
        return None  # Keras says the same of a file that is there and torn
    folder = ""
    facts = [said[1]] if said is not None else []
    facts += users_line(evidence)
    if waits is not None and evidence.stacks is not None:
        facts.append(
            Fact("it waits for a checkpoint that is not in the folder it looks into", evidence.stacks.source)
        )
        title = "it waits for a checkpoint that is not there"
    elif environment and error is not None:
        path = error.message.strip("'\"")
        title = f"the environment variable {path} is not set"
        facts.insert(0, Fact(f"KeyError: {error.message}", error.source))
    elif "scheme" in text and "not implemented" in text:
        title = "TensorFlow cannot read that kind of address"
    elif folder := _folder_to_write_to(evidence, path):
        title = f"{path} cannot be written: its folder {folder} is not there"
    else:
        title = f"{path or 'a file'} is not there"
    if re.search(r"(^|/)None/", path):
        facts.append(
            Fact(
                "'None' in the path: an environment variable or a setting was empty",
                error.source if error is not None else "",
            )
        )
    certain = (
        error is not None or (said is not None and "can't open file" in said[1].fact) or waits is not None
    )
    return Finding(
        "path-missing",
        Strength.ESTABLISHED if certain else Strength.SUPPORTED,
        title,
        tuple(facts),
        (),
        _remedies(path, folder),
    )


def _remedies(path: str, folder: str) -> tuple[Remedy, ...]:
    if folder:
        return (
            Remedy(
                "make the folder before it is written to",
                "your-choice",
                f'os.makedirs("{folder}", exist_ok=True)',
            ),
            Remedy("look for what removed it, if it was there when the run began", "your-choice"),
        )
    advice = (
        f"check {path}: the folder it is started in, the mount, the spelling" if path else "check the path"
    )
    return (
        Remedy(advice, "your-choice"),
        Remedy("check everything before a run: `holdfast check RECIPE`", "automatic"),
    )


_WRITES = re.compile(
    r"""open\(.*,\s*(mode\s*=\s*)?['"][wax][bt+]*['"]|\.(write_text|write_bytes|to_csv|to_json|savefig)\("""
)


def _folder_to_write_to(evidence: Evidence, path: str) -> str:
    """Of a file that was to be written, which need not be there: it is its folder that is missing."""
    saving = any(said.event.errno == 2 and said.event.path == path for said in evidence.all(ev.SaveFailed))
    code = evidence.error.user_code if evidence.error is not None else ""
    return os.path.dirname(path) if saving or _WRITES.search(code) else ""


def _path(text: str) -> str:
    text = re.sub(r"\{\{.*?\}\}", "", text)  # TensorFlow names the node first, and a device looks like a path
    for pattern in (
        r"No such file or directory: b?['\"]([^'\"]+)",
        r"can't open file '([^']+)'",
        r"No files matched pattern: (\S+)",
        r"filepath=([^\s,]+)",
        r"(\S+); No such file",
        r"NotFoundError:.*?([\w./~-]*/[\w./~*-]+)",
        r"File system scheme '(\w+)'",
        r"['\"]([^'\"]*/[^'\"]+)['\"]",
    ):
        found = re.search(pattern, text)
        if found:
            return found[1].rstrip(".")
    return ""
