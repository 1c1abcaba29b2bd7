"""Numbers about the output of a layer, and about predictions."""

from __future__ import annotations

from typing import Any

_RELU_LIKE = ("relu", "relu6", "crelu", "relu_squared")
#: Where an activation has its limits, and how near counts as there.
_LIMITS = {"sigmoid": (0.0, 1.0), "hard_sigmoid": (0.0, 1.0), "tanh": (-1.0, 1.0), "softmax": (0.0, 1.0)}
_NEAR = 1e-3
_MOST_VALUES = 4_000_000  # of one layer's output; of a larger one every so many positions
_MOST_CLASSES = 20


def of_layer(values: Any, activation: str, channels_first: bool) -> dict[str, Any]:
    """`values`: rows first. A unit is a column of a dense layer, or a channel of a convolution."""
    import numpy as np

    array = np.asarray(values)
    if array.dtype.kind != "f":
        array = array.astype("float32")
    if array.ndim > 2:
        array = np.moveaxis(array, 1, -1) if channels_first else array
    units = array.shape[-1]
    positions = array.reshape(array.shape[0], -1, units)
    stride = max(1, positions.size // _MOST_VALUES)
    positions = positions[:, ::stride, :]
    flat = positions.reshape(-1, units).astype("float32")
    with np.errstate(all="ignore"):
        numbers: dict[str, Any] = {
            "units": int(units),
            "spread": _short(positions.astype("float32").std(axis=0).mean()),
            "size": _short(np.sqrt(np.mean(np.square(flat, dtype="float64")))),
        }
        if activation in _RELU_LIKE:
            numbers["zero"] = _short((flat == 0).all(axis=0).mean())
            numbers["zero_values"] = _short((flat == 0).mean())
        if activation in _LIMITS:
            low, high = _LIMITS[activation]
            at_low, at_high = flat <= low + _NEAR, flat >= high - _NEAR
            numbers["saturated"] = _short((at_low | at_high).mean())
            numbers["stuck"] = _short((at_low.all(axis=0) | at_high.all(axis=0)).mean())
    return numbers


def of_predictions(values: Any) -> dict[str, Any]:
    """For the event `ValuesSeen`; empty where they are no table of numbers."""
    import numpy as np

    array = np.asarray(values)
    if array.ndim < 1 or not array.size:
        return {}
    array = array.astype("float32") if array.dtype.kind != "f" else array
    finite = bool(np.isfinite(array).all())
    numbers: dict[str, Any] = {"shape": [int(size) for size in array.shape[1:]], "finite": finite}
    numbers["dtype"] = str(array.dtype)
    if finite:
        rows = array.reshape(len(array), -1)
        spread = float(np.ptp(rows, axis=0).max())
        numbers.update({name: _short(getattr(array, name)()) for name in ("min", "max", "mean", "std")})
        numbers["rows_differ"] = bool(spread > 1e-5 * max(1e-6, float(abs(rows).max())))
        if array.ndim == 2 and array.shape[1] > 1:
            ids, counts = np.unique(array.argmax(axis=1), return_counts=True)
            order = np.argsort(-counts)[:_MOST_CLASSES]
            numbers["classes"] = {str(int(ids[place])): int(counts[place]) for place in order}
    return numbers


def _short(value: Any) -> float | None:
    number = float(value)
    return float(f"{number:.4g}") if number == number and abs(number) != float("inf") else None
