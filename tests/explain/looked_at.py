"""Hand-made evidence of a model that was looked at after its fit: layers, gradients, moved weights."""

from __future__ import annotations

from typing import Any

from holdfast.journal import events as ev

from .made import Run

FLAT = [0.6933, 0.6932, 0.6931, 0.6932, 0.6931, 0.6932]
FALLS = [0.69, 0.5, 0.35, 0.2, 0.12, 0.08]


def dense(name: str, activation: str = "relu", **numbers: Any) -> dict[str, Any]:
    return {"name": name, "kind": "Dense", "activation": activation, "units": 16, "spread": 0.3, **numbers}


def gradient(layer: str, norm: float, weight_norm: float = 4.0, name: str = "kernel") -> dict[str, Any]:
    return {"name": name, "layer": layer, "norm": norm, "weight_norm": weight_norm}


def kernel(layer: str, change: float, rms: float = 0.1, **more: Any) -> dict[str, Any]:
    numbers = {"name": "kernel", "layer": layer, "size": 128, "rms": rms, "rms_before": rms, "change": change}
    flags = {"equal_units": False, "equal_units_before": False, "constant": False, "constant_before": False}
    return {**numbers, **flags, **more}


def targets(run: Run, classes: dict[str, int] | None = None) -> None:
    """Two classes, as many of each, and the cross-entropy of one output."""
    shares = classes or {"0": 50, "1": 50}
    rows = sum(shares.values())
    run.probe(
        ev.ValuesSeen(role="target", fit=1, rows=rows, classes=shares, class_count=len(shares), shape=[])
    )
    run.probe(ev.OutputSeen(by="compile", fit=1, loss="binary_crossentropy", activation="sigmoid", units=1))


def trained(
    run: Run,
    losses: list[float],
    *looks: ev.Event,
    steps: int = 40,
    accuracy: float | None = None,
    model: dict[str, Any] | None = None,
    **fit: Any,
) -> None:
    """A fit of a fresh model; what was recorded at its end comes before the end."""
    about = {"parameters": 500, "trainable_parameters": 500, "optimizer": "Adam", "learning_rate": 1e-3}
    run.probe(ev.ModelSeen(**{**about, **(model or {})}))
    run.fit(epochs=len(losses), steps=steps, iterations=0, **fit)
    for number, loss in enumerate(losses):
        logs = {"loss": loss, **({} if accuracy is None else {"accuracy": accuracy})}
        run.probe(ev.EpochDone(fit=1, epoch=number, steps=steps, logs=logs, duration_s=1.0))
    for look in looks:
        run.probe(look)
    done = {"epochs": len(losses), "epochs_done": len(losses), "steps_by_epoch": [steps] * len(losses)}
    run.probe(ev.FitDone(fit=1, steps=steps * len(losses), weights_changed=True, **done))
    run.ended(0)


def look(
    activations: list[dict[str, Any]], gradients: list[dict[str, Any]] | None = None, **more: Any
) -> ev.Event:
    return ev.LayersMeasured(
        fit=1, step=240, reason="flat", rows=64, activations=activations, gradients=gradients or [], **more
    )


def predictions(differ: bool, mean: float = 0.5) -> ev.Event:
    return ev.ValuesSeen(
        role="prediction", fit=1, step=240, rows=64, mean=mean, rows_differ=differ, shape=[1]
    )


def moves(*variables: dict[str, Any], since: str = "start", step: int = 240) -> ev.Event:
    return ev.WeightsMoved(fit=1, since=since, step=step, variables=list(variables))
