"""Numbers about inputs and targets, from a sample of rows. Nothing is drawn from a dataset for it."""

from __future__ import annotations

from typing import Any

from ...journal.events import DependenceSeen, ValuesSeen
from ..runtime import torch_values

_MOST_ROWS = 4096
_MOST_VALUES = 1_000_000
_COUNTED_VALUES = 100_000  # of which different ones are counted
_COUNTED_UP_TO = 1000
_LISTED_CLASSES = 20
_CLOSE_TO_ONE = 1e-3
_MOST_COLUMNS = 4096  # whose scales are compared
_SHUFFLES, _FEATURE_COLUMNS = 40, 500
_NEIGHBOUR_ROWS, _NEIGHBOUR_COLUMNS, _FEWEST_ROWS = 1000, 1000, 50


def as_array(value: Any) -> Any:
    """A NumPy array of what is in host memory or may be copied there; None for anything else."""
    import numpy as np

    if value is None or isinstance(value, (str, bytes, dict)):
        return None
    if hasattr(value, "detach"):  # torch
        value = torch_values.on_host(value)
        value = value.numpy() if value is not None else None
    elif type(value).__module__.startswith("tensorflow") and hasattr(value, "numpy"):
        value = np.asarray(value) if "CPU" in str(getattr(value, "device", "")) else None  # without a copy
    elif hasattr(value, "to_numpy"):  # pandas
        value = value.to_numpy()
    elif isinstance(value, list):
        value = np.asarray(value) if value and isinstance(value[0], (int, float)) else None
    elif not isinstance(value, np.ndarray):
        value = np.asarray(value) if "jax" in type(value).__module__ else None
    if value is None or not hasattr(value, "dtype") or value.dtype.kind not in "fiub" or not value.ndim:
        return None
    return value


def sample_of(array: Any, most: int = _MOST_ROWS) -> Any:
    """Rows spread over the array."""
    per_row = max(1, array[:1].size)
    rows = max(1, min(len(array), most, _MOST_VALUES // per_row))
    return array[:: -(-len(array) // rows)]


def values_seen(
    array: Any, role: str, *, name: str = "", where: str = "", step: int = 0, fit: int | None = None
) -> ValuesSeen | None:
    """`step`: 0 where the rows are spread over all of the data, else the step before which their batch came."""
    import numpy as np

    if array is None or not len(array) or not array.size:
        return None
    sample = np.asarray(sample_of(array), dtype="float64")
    finite = np.isfinite(sample)
    values = sample[finite]
    about: dict[str, Any] = {
        "role": role, "name": name, "where": where, "step": step, "fit": fit, "rows": len(sample),
        "shape": [int(side) for side in array.shape[1:]], "dtype": str(array.dtype), "finite": bool(finite.all()),
    }  # fmt: skip
    if not values.size:
        return ValuesSeen(**about)
    counted = values[:: max(1, values.size // _COUNTED_VALUES)]
    about.update(
        min=float(values.min()), max=float(values.max()), mean=float(values.mean()), std=float(values.std()),
        distinct=int(min(_COUNTED_UP_TO, len(np.unique(counted)))),
        whole_numbers=bool((counted == np.floor(counted)).all()),
        **_rows_and_columns(sample, np),
    )  # fmt: skip
    if role == "target" and about["finite"]:
        about.update(_as_labels(sample, about, np))
    return ValuesSeen(**about)


def _rows_and_columns(sample: Any, np: Any) -> dict[str, Any]:
    flat = sample.reshape(len(sample), -1)
    columns = int(flat.shape[1])
    if columns > _MOST_COLUMNS:
        flat = flat[:, :: columns // _MOST_COLUMNS]
    several = len(flat) > 1
    with np.errstate(all="ignore"):
        spread = flat.std(axis=0)
    constant = (flat == flat[:1]).all(axis=0)
    varied = np.sort(spread[~constant & np.isfinite(spread)])
    return {
        "columns": columns,
        "rows_differ": bool(not constant.all()) if several else None,
        "constant_columns": round(float(constant.mean()) * columns) if several else None,
        "column_scales": [float(varied[place]) for place in (0, len(varied) // 2, -1)] if len(varied) else [],
    }


def _as_labels(sample: Any, about: dict[str, Any], np: Any) -> dict[str, Any]:
    width = sample.shape[-1] if sample.ndim > 1 else 1
    if width > 1:
        sums = sample.sum(axis=-1)
        to_one = bool((np.abs(sums - 1) < _CLOSE_TO_ONE).all() and sample.min() >= 0)
        one_hot = to_one and about["min"] == 0 and about["max"] == 1 and about["distinct"] == 2
        ids = sample.argmax(axis=-1) if one_hot and sample.ndim == 2 else None
        known = {"sums_to_one": to_one, "one_hot": one_hot}
    else:
        many = about["distinct"] > max(_LISTED_CLASSES, len(sample) // 2)
        is_ids = about["whole_numbers"] and sample.size == len(sample) and not many
        ids, known = sample.reshape(-1) if is_ids else None, {}
        if sample.size == len(sample):
            known["median_deviation"] = float(np.abs(sample - np.median(sample)).mean())
    if ids is None:
        return known
    found, counts = np.unique(ids, return_counts=True)
    order = np.argsort(-counts, kind="stable")[:_LISTED_CLASSES]
    listed = {str(int(found[place])): int(counts[place]) for place in order}
    return {**known, "class_count": len(found), "classes": listed}


def dependence(inputs: Any, targets: Any, fit: int | None = None) -> DependenceSeen | None:
    """Whether the nearest other row has a label that is alike. None where a table is too small or too wide for it."""
    import numpy as np

    if inputs is None or targets is None or len(inputs) != len(targets) or len(inputs) < _FEWEST_ROWS:
        return None
    if inputs[:1].size > _NEIGHBOUR_COLUMNS or targets[:1].size > _NEIGHBOUR_COLUMNS:
        return None
    rows = np.asarray(sample_of(inputs, _NEIGHBOUR_ROWS), dtype="float32").reshape(-1, inputs[:1].size)
    labels = np.asarray(sample_of(targets, _NEIGHBOUR_ROWS), dtype="float64").reshape(len(rows), -1)
    if not (np.isfinite(rows).all() and np.isfinite(labels).all()):
        return None
    spread = rows.std(axis=0)
    rows = ((rows - rows.mean(axis=0)) / np.where(spread > 0, spread, 1))[:, spread > 0]
    if not rows.shape[1]:
        return None
    nearest, distance = _nearest(rows, np)
    shuffled = rows.copy()
    chance = np.random.default_rng(0)  # a generator of its own: the script's random state is left alone
    for column in range(rows.shape[1]):
        shuffled[:, column] = shuffled[chance.permutation(len(rows)), column]
    structure = float(_nearest(shuffled, np)[1] / max(distance, 1e-9))
    seen = _alike(labels, nearest, fit, np)
    if seen is None:
        return None
    related = _as_related(rows, _ids(labels, np), np) if seen.of == "classes" else None
    return seen.changed(structure=round(structure, 3), shuffles_as_related=related)


def _as_related(rows: Any, ids: Any, np: Any) -> float:
    """Of shuffled labels, how often some feature goes with them as well as the best one goes with the labels."""
    _, places, counts = np.unique(ids, return_inverse=True, return_counts=True)
    features = _features(rows, np)
    chance = np.random.default_rng(0)

    def strongest(of: Any) -> float:
        by_class = np.zeros((len(counts), len(rows)), dtype="float32")
        by_class[of, np.arange(len(rows))] = 1
        return float(((by_class @ features) ** 2 / counts[:, None]).sum(axis=0).max())

    places = places.reshape(-1)
    own = strongest(places)
    return sum(strongest(chance.permutation(places)) >= own for _ in range(_SHUFFLES)) / _SHUFFLES


def _features(rows: Any, np: Any) -> Any:
    """Columns, their squares, and what a row shows as a whole, such as a small spot wherever it lies."""
    columns = rows[:, :: -(-rows.shape[1] // _FEATURE_COLUMNS)]
    whole = [rows.mean(axis=1), rows.std(axis=1), rows.min(axis=1), rows.max(axis=1)]
    whole.append(np.abs(np.diff(rows, axis=1)).mean(axis=1) if rows.shape[1] > 1 else whole[0])
    found = np.concatenate([columns, columns * columns, np.stack(whole, axis=1)], axis=1)
    spread = found.std(axis=0)
    return (found - found.mean(axis=0)) / np.where(spread > 0, spread, 1)


def _nearest(rows: Any, np: Any) -> tuple[Any, float]:
    """The nearest other row of each, and how far it is away, on average."""
    squares = (rows * rows).sum(axis=1)
    distances = squares[:, None] + squares[None, :] - 2 * (rows @ rows.T)
    np.fill_diagonal(distances, np.inf)
    nearest = distances.argmin(axis=1)
    return nearest, float(np.sqrt(np.maximum(distances[np.arange(len(rows)), nearest], 0)).mean())


def _ids(labels: Any, np: Any) -> Any:
    """One number for each row; None for several that are no class."""
    if labels.shape[1] == 1:
        return labels[:, 0]
    whole = (labels == np.floor(labels)).all()
    return labels.argmax(axis=1) if whole and (labels.sum(axis=1) == 1).all() else None


def _alike(labels: Any, nearest: Any, fit: int | None, np: Any) -> DependenceSeen | None:
    ids = _ids(labels, np)
    if ids is None:
        return None
    whole = (ids == np.floor(ids)).all()
    _, counts = np.unique(ids, return_counts=True)
    if len(counts) < 2:
        return None
    if whole and len(counts) <= _LISTED_CLASSES:
        chance = float(((counts / len(ids)) ** 2).sum())
        return DependenceSeen(
            fit=fit, rows=len(ids), agreement=float((ids == ids[nearest]).mean()), chance=chance, of="classes"
        )
    return DependenceSeen(
        fit=fit, rows=len(ids), agreement=float(np.corrcoef(ids, ids[nearest])[0, 1]), chance=0.0, of="values"
    )
