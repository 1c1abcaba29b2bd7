"""A copy of the script as it was started, in the run folder, so that two runs can be compared.

The most frequent answer to "it ran yesterday" is a line that was edited since.
"""

from __future__ import annotations

import contextlib
import os
import zlib
from collections.abc import Sequence
from pathlib import Path

from holdfast import atomic_write
from holdfast.journal.events import ScriptRead
from holdfast.journal.folder import RunFolder
from holdfast.regular_file import read_bytes
from holdfast.secret_text import redacted_bytes
from holdfast.user_code import script_words

MAX_SNAPSHOT_BYTES = 256 << 10  # of a larger script only the digest is recorded
_MOST_BYTES = 64 << 20
_MAX_SIBLING_MODULES = 200


def snapshot_script(command: Sequence[str], folder: RunFolder, *, cwd: Path) -> ScriptRead | None:
    """Copies the script and digests the modules in its folder. None where the command names no Python file."""
    script = script_of(command, cwd)
    if script is None:
        return None
    try:
        text = read_bytes(script, most=_MOST_BYTES)
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
    for word, is_module in script_words(command):
        if is_module:
            module = str(cwd / word.replace(".", "/"))
            paths = (f"{module}.py", f"{module}/__main__.py")
            return next((Path(path) for path in paths if os.path.isfile(path)), None)
        # False for what is no file name, such as a long text after -c; a Path would raise.
        if os.path.isfile(cwd / word):
            return cwd / word
    return None


def digest(text: bytes) -> str:
    """To notice an edit, not a forgery: hashlib would add 4 MB to the supervisor's memory."""
    return f"{zlib.crc32(text):08x}-{len(text)}"


def _store_copy(name: str, text: bytes, folder: RunFolder) -> str:
    if len(text) > MAX_SNAPSHOT_BYTES:
        return ""
    with contextlib.suppress(OSError):
        folder.source.mkdir(exist_ok=True)
        atomic_write.write_bytes(folder.source / name, redacted_bytes(text), sync=False, private=True)
        return name
    return ""


def _sibling_modules(script: Path) -> dict[str, str]:
    """The other modules of its folder, any of which it may import."""
    digests = {}
    with contextlib.suppress(OSError):
        names = sorted(entry.name for entry in os.scandir(script.parent) if entry.name.endswith(".py"))
        for name in names[:_MAX_SIBLING_MODULES]:
            other = script.parent / name
            if name != script.name and other.stat().st_size <= MAX_SNAPSHOT_BYTES:
                digests[name] = digest(read_bytes(other, most=MAX_SNAPSHOT_BYTES))
    return digests
