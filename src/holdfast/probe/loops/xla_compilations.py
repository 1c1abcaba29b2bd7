"""How often XLA compiles inside TensorFlow, which tells nobody: each program leaves executable memory of its own.

A function with `jit_compile` is traced for two shapes and then for all of them at once; XLA compiles anew for each.
Of seven shapes one after the other each left two more regions, and a shape that came again left none; a step of `fit`
leaves some twenty-five (TensorFlow 2.21).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ...journal.events import MachineCodeCounted
from ..runtime import background_thread
from ..runtime.context import ProbeContext

PART = "machinecode"
_EVERY_S = 5.0
_AT_ONCE = (
    5  # looks without a pause: the first one is to see what one program takes, before there are several
)
_SAY_FROM = 4  # regions more than said last


class XlaCompilations:
    def __init__(
        self, session: ProbeContext, function: str, where: str, maps: Path = Path("/proc/self/maps")
    ) -> None:
        self._session = session
        self._function, self._where = function, where
        self._maps = maps
        self._next_at = 0.0
        self._looks = 0
        self._said: int | None = None

    def look(self, now: float) -> None:
        """In the background thread, once a second; reading the list takes some milliseconds."""
        if now < self._next_at:
            return
        step = self._session.progress.step
        if not step:
            return
        self._looks += 1
        self._next_at = now + (_EVERY_S if self._looks >= _AT_ONCE else 0.0)
        found = regions(self._maps.read_text())
        if self._said is None or found - self._said >= _SAY_FROM:
            self._said = found
            self._session.say(
                MachineCodeCounted(function=self._function, where=self._where, regions=found, step=step)
            )


def regions(maps: str) -> int:
    """Executable memory that belongs to no file."""
    found = 0
    for line in maps.splitlines():
        words = line.split()
        found += len(words) == 5 and "x" in words[1] and words[4] == "0"
    return found


def mind(session: ProbeContext, owner: Any, where: str) -> None:
    """A function was traced; from the first one that XLA compiles on, its machine code is counted."""
    if session.seen.get(PART) or not getattr(owner, "_jit_compile", None):
        return
    session.seen[PART] = True
    name = str(getattr(owner, "_name", "") or "a function")
    background_thread.of(session).every_second(PART, XlaCompilations(session, name, where).look)
