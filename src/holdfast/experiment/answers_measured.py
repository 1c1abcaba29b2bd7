"""How good answers are, by a measure that does not depend on the loss: the share that is right, or the variance explained.

Tasks: `classes` (ids, or rows with one 1), `labels` (each value is yes or no), `numbers`.
"""

from __future__ import annotations

from typing import Any


def measured(predicted: Any, targets: Any, task: str, from_logits: bool) -> dict[str, Any]:
    """`accuracy`, or `unexplained`: the mean squared error as a share of the variance of the targets."""
    import numpy as np

    if not np.isfinite(predicted).all():
        return {"broken": True}
    if task == "numbers":
        return {"unexplained": _unexplained(np, predicted, targets)}
    if task == "labels":
        said = (predicted > (0 if from_logits else 0.5)).reshape(len(targets), -1)
        return {"accuracy": float((said == (targets.reshape(len(targets), -1) > 0.5)).mean())}
    return {"accuracy": float((_classes(np, predicted, targets, from_logits) == ids(targets)).mean())}


def of_constant(targets: Any, task: str) -> dict[str, Any]:
    """What the best answer reaches that is the same for every row: the share of the largest class."""
    import numpy as np

    if task == "numbers":
        return {}
    if task == "labels":
        shares = (targets.reshape(len(targets), -1) > 0.5).mean(axis=0)
        return {"majority": float(np.maximum(shares, 1 - shares).mean())}
    _, counts = np.unique(ids(targets), return_counts=True)
    return {"majority": float(counts.max() / counts.sum())}


def ids(targets: Any) -> Any:
    """Of rows with one 1, the place of the 1."""
    last = targets.shape[-1] if targets.ndim > 1 else 1
    one_hot = last > 1 and bool((targets.sum(axis=-1) == 1).all()) and bool(((targets == 0) | (targets == 1)).all())
    return (targets.argmax(axis=-1) if one_hot else targets).reshape(-1)


def _classes(np: Any, predicted: Any, targets: Any, from_logits: bool) -> Any:
    units = predicted.shape[-1] if predicted.ndim > 1 else 1
    if units > 1 and predicted.size // units == ids(targets).size:
        return predicted.argmax(axis=-1).reshape(-1)
    return (predicted > 0 if from_logits else np.rint(predicted)).reshape(-1)


def _unexplained(np: Any, predicted: Any, targets: Any) -> float:
    rows = targets.reshape(len(targets), -1).astype("float64")
    error = ((predicted.reshape(len(targets), -1) - rows) ** 2).mean()
    return float(error / max(((rows - rows.mean(axis=0)) ** 2).mean(), 1e-12))


def scaled(targets: Any, wanted: bool) -> tuple[Any, float, float]:
    """With mean 0 and deviation 1, and how to come back."""
    if not wanted:
        return targets, 0.0, 1.0
    mean, std = float(targets.mean()), float(targets.std()) or 1.0
    return ((targets - mean) / std).astype("float32"), mean, std


def standardised(array: Any) -> Any:
    """Each column of a table by itself; of a series or an image all values together."""
    import numpy as np

    values = array.astype("float32")
    axis = 0 if values.ndim == 2 else None
    std = np.asarray(values.std(axis=axis))
    return (values - values.mean(axis=axis)) / np.where(std > 0, std, 1.0)
