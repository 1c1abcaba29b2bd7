"""Runs whose loss or weights stopped being finite, for the causes in the numbers."""

from __future__ import annotations

from collections.abc import Sequence

from holdfast.journal import events as ev
from tests.explain.made import Run

#: Losses that grow from step to step until they break.
GROWING = [0.9, 0.8, 24.0, 900.0, 4e6, 4.5e21]
#: Losses as any training has them.
ORDINARY = [0.06 + 0.002 * (number % 7) for number in range(40)]


def broke(**more: object) -> ev.NonFiniteSeen:
    """A loss that became NaN at step 33, in one step."""
    values = {
        "what": "loss",
        "name": "loss",
        "step": 33,
        "value": "nan",
        "last_finite": 0.6,
        "weights_finite_before": True,
        "precision": "float32",
        "learning_rate": 0.01,
        "detail": {"recent_steps": [0.9, 0.8, 0.7, 0.75, 0.65, 0.6]},
        **more,
    }
    return ev.NonFiniteSeen(**values)  # type: ignore[arg-type]


def nan_run(run: Run, event: ev.NonFiniteSeen) -> None:
    run.fit()
    run.probe(event)
    run.epochs([100, 100, 100], [float("nan")] * 3)
    run.ended(0)


def broken_loop(run: Run, losses: Sequence[float], *parts: dict[str, object]) -> None:
    """A loop of `train_on_batch` whose loss is infinite after these losses."""
    run.probe(ev.LoopSeen(by="train_on_batch", where="train.py:12"))
    if parts:
        run.probe(ev.BatchSeen(step=len(losses), parts=list(parts)))
    run.probe(
        ev.NonFiniteSeen(
            what="loss", name="loss", step=len(losses) + 1, value="inf", last_finite=losses[-1], recent=list(losses),
            weights_finite=False, learning_rate=0.01, precision="float32", detail={"recent_steps": list(losses)},
        )
    )  # fmt: skip
    run.ended(0)
