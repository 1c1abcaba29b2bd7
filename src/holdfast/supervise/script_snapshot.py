"""What the script said when it was started: its text is kept in the run's folder, so that two runs can be compared.

The most frequent answer to "it ran yesterday" is a line that somebody has edited since.
"""

from __future__ import annotations

import contextlib
import os
import zlib
from collections.abc import Sequence
from pathlib import Path

from holdfast.journal.events import ScriptRead
from holdfast.journal.folder import RunFolder

MAX_SNAPSHOT_BYTES = 256 << 10  # a script that is larger is digested only
_MAX_SIBLING_MODULES = 200


def snapshot_script(command: Sequence[str], folder: RunFolder, *, cwd: Path) -> ScriptRead | None:
    """Keeps the script and digests the modules beside it. None where the command names no Python file."""
    script = script_of(command, cwd)
    if script is None:
        return None
    try:
        text = script.read_bytes()
    except OSError:
        return None
    return ScriptRead(
        script=str(script),
        digest=digest(text),
        kept=_store_copy(script.name, text, folder),
        beside=_sibling_modules(script),
    )


def script_of(command: Sequence[str], cwd: Path) -> Path | None:
    """`train.py` of `python -u train.py`, `pkg/train.py` of `python -m pkg.train`."""
    for at, word in enumerate(command):
        # False for what is no name at all, as a long text after -c; a Path would raise.
        if word.endswith(".py") and os.path.isfile(cwd / word):
            return cwd / word
        if word == "-m" and at + 1 < len(command):
            module = str(cwd / command[at + 1].replace(".", "/"))
            places = (f"{module}.py", f"{module}/__main__.py")
            return next((Path(place) for place in places if os.path.isfile(place)), None)
    return None


def digest(text: bytes) -> str:
    """To notice an edit, not a forger: hashlib would take 4 MB of the supervisor's memory."""
    return f"{zlib.crc32(text):08x}-{len(text)}"


def _store_copy(name: str, text: bytes, folder: RunFolder) -> str:
    if len(text) > MAX_SNAPSHOT_BYTES:
        return ""
    with contextlib.suppress(OSError):
        folder.source.mkdir(exist_ok=True)
        (folder.source / name).write_bytes(text)
        return name
    return ""


def _sibling_modules(script: Path) -> dict[str, str]:
    """The other modules of its folder, any of which it may import."""
    found = {}
    with contextlib.suppress(OSError):
        names = sorted(entry.name for entry in os.scandir(script.parent) if entry.name.endswith(".py"))
        for name in names[:_MAX_SIBLING_MODULES]:
            other = script.parent / name
            if name != script.name and other.stat().st_size <= MAX_SNAPSHOT_BYTES:
                found[name] = digest(other.read_bytes())
    return found
