""" "every 200 steps" or "every 10min": when something is due. Pure; the clock is an argument."""

from __future__ import annotations

import re
from dataclasses import dataclass

_SECONDS = {"s": 1.0, "min": 60.0, "h": 3600.0}


@dataclass(frozen=True, slots=True)
class Interval:
    steps: int | None = None
    seconds: float | None = None

    def due(self, step: int, *, last_step: int, since_s: float) -> bool:
        """Whether it is due at `step`, when it was last done at `last_step`, `since_s` seconds ago."""
        if step <= last_step:
            return False
        if self.steps is not None:
            return step % self.steps == 0
        return self.seconds is not None and since_s >= self.seconds


def parse_interval(setting: int | str) -> Interval:
    """From a recipe's value: a number of steps, or a time such as "30s", "10min", "1h"."""
    if isinstance(setting, int):
        return Interval(steps=setting)
    number, unit = re.fullmatch(r"([\d.]+)\s*(s|min|h)", setting.strip()).groups()  # type: ignore[union-attr]
    return Interval(seconds=float(number) * _SECONDS[unit])
