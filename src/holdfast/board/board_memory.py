"""What a person has arranged on their board: archived runs, and how it is shown. In their own state folder.

Run folders are never written: they may be other people's, and archiving is a matter of what one wants to see.
"""

from __future__ import annotations

import json
import os
import threading
from pathlib import Path
from typing import Any

from holdfast import atomic_write
from holdfast.board.plain_values import mapping
from holdfast.errors import HoldfastError

_MOST_ARCHIVED = 50_000
_MOST_BYTES = 16 << 20
_VIEW_BYTES = 8 << 10


class BoardMemoryDamaged(HoldfastError):
    """The file is not ours to overwrite."""

    slug = "board-memory-damaged"


def default_path() -> Path:
    base = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(base) / "holdfast" / "board.json"


class BoardMemory:
    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.Lock()

    def stamp(self) -> str:
        """Another one after each change."""
        try:
            return str(self.path.stat().st_mtime_ns)
        except OSError:
            return "0"

    def archived(self) -> set[str]:
        """Paths of run folders."""
        return set(mapping(self._read().get("archived")))

    def view(self) -> dict[str, Any]:
        return mapping(self._read().get("view"))

    def archive(self, paths: list[str], *, back: bool, now: float) -> None:
        """Puts runs away, or back."""
        with self._lock:
            known = self._read()
            archived = mapping(known.get("archived"))
            for path in paths:
                if back:
                    archived.pop(path, None)
                elif len(archived) < _MOST_ARCHIVED:
                    archived[path] = round(now)
            self._write({**known, "archived": archived})

    def set_view(self, view: dict[str, Any]) -> None:
        try:
            if len(json.dumps(view, allow_nan=False)) > _VIEW_BYTES:
                return
        except ValueError:
            return  # a number that no browser can read back: the page would never come again
        with self._lock:
            self._write({**self._read(), "view": view})

    def _read(self) -> dict[str, Any]:
        """Read anew each time: another board of the same person may have written it."""
        try:
            text = self.path.read_bytes()[: _MOST_BYTES + 1]
        except FileNotFoundError:
            return {}
        except OSError as error:
            raise self._damaged(error.strerror or str(error)) from error
        try:
            known = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise self._damaged("it is not JSON") from error
        if not isinstance(known, dict):
            raise self._damaged("it is not an object")
        return known

    def _write(self, known: dict[str, Any]) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        atomic_write.write_text(self.path, json.dumps({"version": 1, **known}, indent=1) + "\n")

    def _damaged(self, found: str) -> BoardMemoryDamaged:
        return BoardMemoryDamaged(
            "what the board remembers cannot be read, and is not overwritten",
            where=self.path,
            found=found,
            change="mend the file, or move it away: only the list of archived runs is in it",
        )
