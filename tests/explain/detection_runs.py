"""Hand-made trainings of detectors."""

from __future__ import annotations

from typing import Any

from holdfast.journal import events as ev
from tests.explain.learning_runs import dense
from tests.explain.made import Run

CORNERS: dict[str, Any] = {
    "image": [48, 48], "boxes": "box", "classes": "kind", "places": 600, "box_rows": 600, "corners": 1.0, "by_one": 1.0,
    "no_size": 0.1, "columns": [[0.0, 0.8, 0.3, 0.2], [0.0, 0.8, 0.3, 0.2], [0.2, 1.0, 0.6, 0.2], [0.2, 1.0, 0.6, 0.2]],
    "ids": {"1": 218, "0": 196, "2": 186}, "highest_id": 2, "lowest_id": 0,
    "with_box": {"1": 218, "0": 196, "2": 186},
}  # fmt: skip
PIXELS: dict[str, Any] = {
    **CORNERS, "by_one": 0.0, "columns": [[0.0, 38.0, 14.0, 10.0], [0.0, 38.0, 14.0, 10.0], [9.0, 48.0, 28.0, 10.0],
                                          [9.0, 48.0, 28.0, 10.0]],
}  # fmt: skip
ENTROPY_OF_KINDS = 1.097


def detector(
    run: Run,
    target: dict[str, Any],
    logs: list[dict[str, float]],
    *,
    box: ev.OutputSeen | None = None,
    kind: ev.OutputSeen | None = None,
    more: tuple[ev.Event, ...] = (),
) -> None:
    """A fit of as many epochs as there are logs, of a model with an output for boxes and one for classes."""
    box = box or dense("linear", 4, "mean_squared_error", output="box")
    kind = kind or dense("softmax", 3, "sparse_categorical_crossentropy", output="kind")
    run.probe(
        ev.ModelSeen(parameters=100, trainable_parameters=100, learning_rate=1e-3, layer_kinds={"Dense": 2})
    )
    run.probe(ev.DetectionTargetsSeen(fit=1, where="train.py:20", **target), box, kind)
    run.fit(epochs=len(logs), data=ev.DatasetSeen(type="array", cardinality=100, where="train.py:20"))
    for number, log in enumerate(logs):
        run.probe(ev.EpochDone(fit=1, epoch=number, steps=100, logs=log, duration_s=10.0))
    steps = [100] * len(logs)
    done = {"epochs": len(steps), "epochs_done": len(steps), "steps_by_epoch": steps, "weights_changed": True}
    run.probe(ev.FitDone(fit=1, steps=sum(steps), **done), *more)
    run.samples(3, rss_bytes=1 << 20, phase="between", step=sum(steps))
    run.ended(0)


def logged(box: list[float], kind: list[float], **more: float) -> list[dict[str, float]]:
    """Both parts of the loss by epoch, and their sum."""
    return [
        {"box_loss": one, "kind_loss": other, "loss": one + other, **more}
        for one, other in zip(box, kind, strict=True)
    ]


def strengths(run: Run, slug: str) -> list[int]:
    return [one.strength for one in run.verdict().findings if one.cause == slug]
