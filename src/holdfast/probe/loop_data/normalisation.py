"""The moving averages of batch normalisation, against the batches that it was trained with.

Keras' averages are read at the start of a training and at its end. An average that keeps the share m of itself at each
of n updates ends at m^n of its first value, and the rest of it is the mean of the batches: that follows from the two.
On torch the averages are compared with those of a batch, which the backward pass keeps.
"""

from __future__ import annotations

from typing import Any

from ...journal.events import NormalisationSeen
from ..learning import weight_sample
from ..runtime.context import ProbeContext

PART = "normalisation"
_KINDS = ("BatchNormalization", "SyncBatchNormalization")
_MOST_LAYERS = 60
_NOTHING = 1e-12


class Averages:
    """Of Keras models, in fits and in loops."""

    def __init__(self, context: ProbeContext) -> None:
        self._context = context

    def of(self, model: Any) -> dict[str, tuple[Any, Any, float]]:
        return self._context.guard(PART, averages, model) or {}

    def compare(self, before: dict[str, Any], model: Any, updates: int, fit: int | None = None) -> None:
        if before and model is not None:
            self._context.guard(PART, self._record, before, model, updates, fit)

    def _record(self, before: dict[str, Any], model: Any, updates: int, fit: int | None) -> None:
        layers = compared(before, averages(model), updates)
        if layers:
            self._context.record(NormalisationSeen(fit=fit, step=updates, layers=layers))


def averages(model: Any) -> dict[str, tuple[Any, Any, float]]:
    """Of each layer by its name: mean, variance and momentum. `model` is at rest."""
    found: dict[str, tuple[Any, Any, float]] = {}
    for layer in list(model._flatten_layers(include_self=False))[: 10 * _MOST_LAYERS]:
        momentum = getattr(layer, "momentum", None)
        if (
            type(layer).__name__ not in _KINDS
            or not isinstance(momentum, float)
            or len(found) >= _MOST_LAYERS
        ):
            continue
        both = [_values(getattr(layer, name, None)) for name in ("moving_mean", "moving_variance")]
        if all(one is not None for one in both):
            found[_unique(str(layer.name), found)] = both[0], both[1], momentum
    return found


def compared(before: dict[str, Any], now: dict[str, Any], updates: int) -> list[dict[str, Any]]:
    """Of the layers whose averages were updated: how far they are from the batches."""
    rows = []
    for name, (mean, variance, momentum) in now.items():
        first = before.get(name)
        left = momentum**updates
        if first is None or not 0.0 < left < 1.0 - _NOTHING or first[0].shape != mean.shape:
            continue
        if (mean == first[0]).all() and (variance == first[1]).all():  # frozen, or never called to train
            continue
        batch_mean, batch_variance = ((one - left * old) / (1 - left) for one, old in
                                      ((mean, first[0]), (variance, first[1])))  # fmt: skip
        row = _distance(mean, variance, batch_mean, batch_variance)
        rows.append({"name": name, "momentum": momentum, "left": _short(left), **row})
    return rows


def of_batch(mean: Any, variance: Any, batch_mean: Any, batch_variance: Any) -> dict[str, Any]:
    """Averages that began at 0 and 1; `left`: the share that is still there of that, by mean and by variance."""
    shares = []
    for value, first, batch in ((mean, 0.0, batch_mean), (variance, 1.0, batch_variance)):
        whole = float(((batch - first) ** 2).sum())
        shares.append(
            1.0 - float(((value - first) * (batch - first)).sum()) / whole if whole > _NOTHING else 0.0
        )
    return {"left": _short(min(shares)), **_distance(mean, variance, batch_mean, batch_variance)}


def _distance(mean: Any, variance: Any, batch_mean: Any, batch_variance: Any) -> dict[str, Any]:
    """The middle one of all channels: the mean in standard deviations, the variance in multiples, above 1."""
    import numpy as np

    size = np.maximum(batch_variance, _NOTHING)
    ratio = np.maximum(variance, _NOTHING) / size
    off = float(np.median(np.abs(mean - batch_mean) / np.sqrt(size)))
    return {"mean_off": _short(off), "times": _short(float(np.median(np.maximum(ratio, 1.0 / ratio))))}


def _values(variable: Any) -> Any:
    import numpy as np

    read = weight_sample.reader_of(variable, at_rest=True) if variable is not None else None
    return np.array(read(), dtype="float64") if read is not None else None


def _unique(name: str, found: dict[str, Any]) -> str:
    return name if name not in found else f"{name} {len(found) + 1}"


def _short(value: float) -> float:
    return float(f"{value:.4g}")
