"""The learning rate as a pure function of the step, so that a resumed run needs no state for it."""

from __future__ import annotations

import math
from dataclasses import dataclass

#: Where "steps" divides the learning rate by ten, as shares of the run (Detectron's 60k and 80k of 90k).
DROPS = (2 / 3, 8 / 9)


@dataclass(frozen=True, slots=True)
class Schedule:
    kind: str  # cosine | steps | constant
    peak: float
    steps: int
    warmup_steps: int = 0
    scale: float = 1.0  # below 1 after a rollback that lowered the learning rate


def learning_rate_of(schedule: Schedule, step: int) -> float:
    """The learning rate of step `step` of 0 … steps - 1. Never zero, so that no step is idle."""
    peak = schedule.peak * schedule.scale
    if step < schedule.warmup_steps:
        return peak * (step + 1) / (schedule.warmup_steps + 1)
    if schedule.kind == "constant":
        return peak
    if schedule.kind == "steps":
        return peak * 0.1 ** sum(step >= share * schedule.steps for share in DROPS)
    done = (step - schedule.warmup_steps) / max(1, schedule.steps - schedule.warmup_steps)
    return peak * 0.5 * (1.0 + math.cos(math.pi * min(done, 1.0)))


def default_warmup(steps: int) -> int:
    """A tenth of the run, at most 500 steps: when the recipe does not set it."""
    return min(500, steps // 10)
