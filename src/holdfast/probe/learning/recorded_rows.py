"""Some rows of the data that a fit was given, taken at equal distances, without drawing from what draws only once."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from ..runtime.nested_values import leaves
from ..state import tfdata_graph

if TYPE_CHECKING:
    from ..runtime.context import ProbeContext
    from ..state.fit_log import FitState

#: Nodes of a tf.data pipeline that give the same elements to every reader and keep no state.
_WITHOUT_STATE = frozenset(
    [
        "tensor_slice", "tensor", "range", "tfrecord", "batch", "padded_batch", "unbatch", "prefetch", "take", "skip",
        "shard", "repeat", "zip", "concatenate", "options", "model",
    ]
)  # fmt: skip
_MOST_BYTES = 256 << 20
_MOST_KEPT_BYTES = 32 << 20  # of a batch that is kept through a fit


class Rows(NamedTuple):
    inputs: Any  # in the structure that the model takes
    targets: Any
    rows: int


def of_fit(context: ProbeContext, fit: FitState, most: int) -> Rows | None:
    """None where reading would change what the training sees."""
    x, y, held_out = fit.given if fit.given is not None else (None, None, 0.0)
    if x is None:
        return None
    if y is not None and all(_is_array(leaf) for leaf in [*leaves(x), *leaves(y)]):
        return _of_arrays(x, y, held_out, most)
    dataset = context.data.dataset
    if dataset is not None and not tfdata_graph.is_python_fed(dataset) and _without_state(dataset):
        return _of_dataset(dataset, most)
    return None


def of_batch(inputs: Any, targets: Any, most: int) -> Rows | None:
    """A copy of the first rows of a batch: of numpy, or of tensors in host memory."""
    import numpy as np

    def taken(value: Any) -> Any:
        rows = value[:most]
        return np.array(rows.detach().cpu() if hasattr(rows, "detach") else rows)

    kept = mapped(taken, inputs), mapped(taken, targets)
    arrays = [*leaves(kept[0]), *leaves(kept[1])]
    if targets is None or any(array.dtype.kind not in "fiub" for array in arrays):
        return None
    size = sum(array.nbytes for array in arrays)
    return Rows(*kept, len(arrays[0])) if size <= _MOST_KEPT_BYTES else None


def _is_array(value: Any) -> bool:
    return hasattr(value, "shape") and hasattr(value, "dtype" if not hasattr(value, "iloc") else "iloc")


def _of_arrays(x: Any, y: Any, held_out: float, most: int) -> Rows | None:
    import numpy as np

    total = int(leaves(x)[0].shape[0])
    used = max(1, int(total * (1 - held_out)))
    places = np.unique(np.linspace(0, used - 1, min(most, used)).astype("int64"))

    def taken(value: Any) -> Any:
        rows = value.iloc[places] if hasattr(value, "iloc") else _rows(np, value, places)
        array = np.asarray(rows)
        if array.dtype == np.float64:  # as Keras makes of it
            array = array.astype("float32")
        return array

    inputs, targets = mapped(taken, x), mapped(taken, y)
    if any(array.dtype.kind not in "fiub" for array in [*leaves(inputs), *leaves(targets)]):
        return None
    size = sum(array.nbytes for array in leaves(inputs))
    return Rows(inputs, targets, len(places)) if size <= _MOST_BYTES else None


def _rows(np: Any, value: Any, places: Any) -> Any:
    """Of numpy, TensorFlow, torch or JAX: one slice with steps, where a list of places is not understood."""
    if isinstance(value, np.ndarray):
        return value[places]
    stride = max(1, int(places[1] - places[0])) if len(places) > 1 else 1
    rows = value[: int(places[-1]) + 1 : stride]
    rows = rows.detach().cpu().numpy() if hasattr(rows, "detach") else np.asarray(rows)
    return rows[: len(places)]


def _of_dataset(dataset: Any, most: int) -> Rows | None:
    import tensorflow as tf

    with tf.device("CPU:0"):
        element = next(iter(dataset), None)
    if not isinstance(element, (tuple, list)) or len(element) < 2:
        return None
    with contextlib.suppress(AttributeError):  # a ragged or a sparse tensor
        inputs, targets = (mapped(lambda leaf: leaf.numpy()[:most], part) for part in element[:2])
        return Rows(inputs, targets, len(leaves(inputs)[0]))
    return None


def _without_state(dataset: Any) -> bool:
    ops = [str(node.get("op", "")).lower() for node in tfdata_graph.describe(dataset)]
    return bool(ops) and all(op in _WITHOUT_STATE for op in ops)


def mapped(function: Callable[[Any], Any], value: Any) -> Any:
    """The same structure, with the function's answer at each leaf."""
    if isinstance(value, dict):
        return {key: mapped(function, item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [mapped(function, item) for item in value]
    return function(value) if value is not None else None
