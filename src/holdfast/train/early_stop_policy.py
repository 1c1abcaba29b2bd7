"""The best evaluation so far, and whether to wait for a better one. Pure: the state goes into checkpoints."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, replace
from typing import Any


@dataclass(frozen=True, slots=True)
class EarlyStoppingState:
    """`best` is the best value ever; `bar` is what must be passed by `min_delta` to be patient again.

    The two differ: many small gains each below `min_delta` raise `best` every time, and `bar` only when
    they add up, so the best weights are kept and a creeping curve still ends.
    """

    best: float | None = None
    best_step: int | None = None
    bar: float | None = None
    waited: int = 0  # evaluations since the bar was passed

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


def after_evaluation(
    now: EarlyStoppingState, value: float, step: int, *, mode: str = "max", min_delta: float = 0.0
) -> EarlyStoppingState:
    """The state after one more evaluation. A value that is not finite never counts as better."""
    better = is_better(value, now.best, mode=mode, by=0.0)
    passed = is_better(value, now.bar, mode=mode, by=min_delta)
    after = replace(now, best=value, best_step=step) if better else now
    return replace(after, bar=value, waited=0) if passed else replace(after, waited=now.waited + 1)


def is_better(value: float, than: float | None, *, mode: str, by: float) -> bool:
    if not math.isfinite(value):
        return False
    if than is None:
        return True
    return value > than + by if mode == "max" else value < than - by


def patience_exhausted(now: EarlyStoppingState, patience: int | None) -> bool:
    """Whether `patience` evaluations have gone by without passing the bar. None waits for ever."""
    return patience is not None and now.waited >= patience
