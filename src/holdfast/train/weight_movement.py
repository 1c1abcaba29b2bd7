"""How far a training has moved the weights: for the verdict on a run that has learned nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from holdfast.journal import events as ev

SAMPLED = 2048  # values of each variable, at equal distances


class WeightSample(NamedTuple):
    path: str
    size: int
    values: np.ndarray


def samples(variables: Sequence[Any]) -> list[WeightSample]:
    return [_sample(variable) for variable in variables]


def moved(before: Sequence[WeightSample], variables: Sequence[Any], *, step: int) -> ev.WeightsMoved:
    """Since the start of the run, as the probe records it of a fit."""
    pairs = zip(before, samples(variables), strict=True)
    compared = [_compared(start, end) for start, end in pairs if np.isfinite(end.values).all()]
    return ev.WeightsMoved(fit=1, since="start", step=step, variables=compared)


def _sample(variable: Any) -> WeightSample:
    values = np.asarray(variable.value, np.float32).ravel()
    stride = max(1, values.size // SAMPLED)
    return WeightSample(variable.path, values.size, values[::stride][:SAMPLED].copy())


def _compared(start: WeightSample, end: WeightSample) -> dict[str, Any]:
    layer, _, name = end.path.rpartition("/")
    return {
        "name": name, "layer": layer, "size": end.size, "rms": _rms(end.values), "rms_before": _rms(start.values),
        "change": _rms(end.values - start.values), "constant": _constant(end.values),
        "constant_before": _constant(start.values),
    }  # fmt: skip


def _rms(values: np.ndarray) -> float:
    return float(f"{np.sqrt(np.mean(np.square(values, dtype=np.float64))):.4g}")


def _constant(values: np.ndarray) -> bool:
    return bool(values.max() == values.min())
