"""How often XLA compiles inside TensorFlow, which nothing reports: each program leaves executable memory of its own.

A function with `jit_compile` is traced for two shapes and then for all of them at once; XLA compiles again for each.
Of seven shapes one after the other each left two more regions, and a shape that came again left none; a step of `fit`
leaves some twenty-five (TensorFlow 2.21).
"""

from __future__ import annotations

from pathlib import Path

from ...journal.events import MachineCodeCounted
from ..runtime.context import ProbeContext

PART = "xla_compilations"
_EVERY_S = 5.0
_AT_ONCE = 5  # reads without a pause: the first is to see what one program takes, before there are several
_RECORD_FROM = 4  # regions more than recorded last


class XlaCompilations:
    def __init__(
        self, context: ProbeContext, function: str, where: str, maps: Path = Path("/proc/self/maps")
    ) -> None:
        self._context = context
        self._function, self._where = function, where
        self._maps = maps
        self._next_at = 0.0
        self._reads = 0
        self._recorded: int | None = None

    def poll(self, now: float) -> None:
        """In the background thread, once a second; reading the list takes some milliseconds."""
        if now < self._next_at:
            return
        step = self._context.heartbeat.step
        if not step:
            return
        self._reads += 1
        self._next_at = now + (_EVERY_S if self._reads >= _AT_ONCE else 0.0)
        count = regions(self._maps.read_text())
        if self._recorded is None or count - self._recorded >= _RECORD_FROM:
            self._recorded = count
            self._context.record(
                MachineCodeCounted(function=self._function, where=self._where, regions=count, step=step)
            )


def regions(maps: str) -> int:
    """Executable memory that belongs to no file."""
    count = 0
    for line in maps.splitlines():
        words = line.split()
        count += len(words) == 5 and "x" in words[1] and words[4] == "0"
    return count
