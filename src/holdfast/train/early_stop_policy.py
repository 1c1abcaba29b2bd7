"""Early stopping: the best evaluation so far, and when to stop waiting for a better one. Pure."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, replace
from typing import Any


@dataclass(frozen=True, slots=True)
class EarlyStoppingState:
    """`best` is the best value so far; `bar` must be exceeded by `min_delta` to reset the patience.

    The two differ: many small gains, each below `min_delta`, raise `best` every time, but `bar` only when they add up.
    So the best weights are kept, and training with a slowly creeping metric still stops.
    """

    best: float | None = None
    best_step: int | None = None
    bar: float | None = None
    waited: int = 0  # evaluations since the bar was exceeded

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


def after_evaluation(
    state: EarlyStoppingState, value: float, step: int, *, mode: str = "max", min_delta: float = 0.0
) -> EarlyStoppingState:
    """The state after one more evaluation. A value that is not finite never counts as better."""
    better = is_better(value, state.best, mode=mode, by=0.0)
    exceeded = is_better(value, state.bar, mode=mode, by=min_delta)
    after = replace(state, best=value, best_step=step) if better else state
    return replace(after, bar=value, waited=0) if exceeded else replace(after, waited=state.waited + 1)


def is_better(value: float, than: float | None, *, mode: str, by: float) -> bool:
    if not math.isfinite(value):
        return False
    if than is None:
        return True
    return value > than + by if mode == "max" else value < than - by


def patience_exhausted(state: EarlyStoppingState, patience: int | None) -> bool:
    """Whether `patience` evaluations have passed without exceeding the bar. None waits forever."""
    return patience is not None and state.waited >= patience
