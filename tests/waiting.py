"""Waits in tests: for what must come, whatever the speed of the machine."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

#: Only what hangs takes longer, also on a machine that is a hundred times slower.
PATIENCE_S = 600.0


def until(condition: Callable[[], T], what: str) -> T:
    """What the condition returned when it first held."""
    end = time.monotonic() + PATIENCE_S
    while not (found := condition()):
        assert time.monotonic() < end, f"waited {PATIENCE_S:.0f} s for {what}"
        time.sleep(0.02)
    return found
