"""Hand-made trainings for causes in the model, the loss and the labels."""

from __future__ import annotations

from typing import Any

from holdfast.journal import events as ev
from tests.explain.made import Run

IDS: dict[str, Any] = {
    "whole_numbers": True, "min": 0.0, "max": 1.0, "mean": 0.5, "std": 0.5, "distinct": 2, "class_count": 2,
    "classes": {"0": 500, "1": 500}, "rows_differ": True,
}  # fmt: skip
NUMBERS: dict[str, Any] = {
    "min": -3.0,
    "max": 3.0,
    "mean": 0.0,
    "std": 1.0,
    "distinct": 1000,
    "rows_differ": True,
}
ONE_HOT: dict[str, Any] = {
    **IDS, "shape": [3], "std": 0.47, "mean": 0.333, "one_hot": True, "sums_to_one": True, "class_count": 3,
    "classes": {"0": 334, "1": 333, "2": 333},
}  # fmt: skip
INPUTS: dict[str, Any] = {
    "shape": [8], "min": -3.0, "max": 3.0, "mean": 0.0, "std": 1.0, "columns": 8, "constant_columns": 0,
    "column_scales": [0.9, 1.0, 1.1], "rows_differ": True, "distinct": 1000,
}  # fmt: skip
FLAT, FALLING = [0.70, 0.695, 0.694, 0.694, 0.694, 0.694], [0.70, 0.5, 0.35, 0.25, 0.2, 0.15]


def dense(activation: str, units: int = 1, loss: str = "binary_crossentropy", **more: Any) -> ev.OutputSeen:
    """What a compiled model compares."""
    cross_entropy = "crossentropy" in loss
    known: dict[str, Any] = {
        "by": "compile", "fit": 1, "model": "sequential", "layer": "Dense", "layer_name": "dense_1", "units": units,
        "activation": activation, "where": "train.py:12", "loss": loss, "from_logits": False if cross_entropy else None,
        "loss_where": "train.py:14", "prediction_shape": [None, units], "target_shape": [None],
    }  # fmt: skip
    return ev.OutputSeen(**{**known, **more})


def values(role: str, **more: Any) -> ev.ValuesSeen:
    known: dict[str, Any] = {"role": role, "fit": 1, "rows": 1000, "dtype": "float32", "where": "train.py:20"}
    return ev.ValuesSeen(**{**known, **more})


def trained(
    run: Run,
    output: ev.OutputSeen,
    target: dict[str, Any],
    losses: list[float],
    *,
    accuracy: list[float] | None = None,
    inputs: dict[str, Any] | None = None,
    more: tuple[ev.Event, ...] = (),
) -> None:
    """A fit of as many epochs as there are losses."""
    run.probe(
        ev.ModelSeen(parameters=100, trainable_parameters=100, learning_rate=1e-3, layer_kinds={"Dense": 2})
    )
    run.probe(values("input", **{**INPUTS, **(inputs or {})}), values("target", **target), output, *more)
    run.fit(epochs=len(losses), data=ev.DatasetSeen(type="array", cardinality=100, where="train.py:20"))
    for number, loss in enumerate(losses):
        logs = {"loss": loss, **({"accuracy": accuracy[number]} if accuracy else {})}
        run.probe(ev.EpochDone(fit=1, epoch=number, steps=100, logs=logs, duration_s=10.0))
    steps = [100] * len(losses)
    done = {"epochs": len(steps), "epochs_done": len(steps), "steps_by_epoch": steps, "weights_changed": True}
    run.probe(ev.FitDone(fit=1, steps=sum(steps), **done))
    run.samples(3, rss_bytes=1 << 20, phase="between", step=sum(steps))
    run.ended(0)
