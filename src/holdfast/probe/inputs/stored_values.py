"""Where a batch is not finite: is what the pipeline reads finite, and are there boxes in it that cannot be?

A function between the source and the batch may make NaN of finite numbers: the logarithm of a width below 0 is one. The
source is read by itself: tensors in memory, lists of floats in TFRecords, arrays that a loader of the user's own keeps.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

from ...journal.events import BatchSeen
from ..runtime.context import ProbeContext
from ..state import tfdata_graph
from . import record_files
from .box_checks import BoxColumns, judge
from .record_boxes import floats_of, inverted_pairs, records

PART = "stored_values"
_BUDGET_S = 3.0
_MOST_ATTRIBUTES, _MOST_ITEMS = 40, 100_000
_MOST_BYTES = 512 << 20
_ROWS = 8


def of_dataset(context: ProbeContext, dataset: Any) -> None:
    """Of a tf.data pipeline with a function in it; without one the batch has what is stored."""
    nodes = tfdata_graph.walk(dataset)
    if not any(getattr(node, "_map_func", None) is not None for node in nodes):
        return
    tensors = [tensor for node in nodes for tensor in (getattr(node, "_tensors", None) or [])]
    arrays = [one.numpy() for one in tensors if hasattr(one, "numpy") and one.dtype.name != "string"]
    parts = of_arrays([(f"array {place}", array) for place, array in enumerate(arrays)])
    for path in record_files.of_run(context):
        parts += _of_records(path, time.monotonic() + _BUDGET_S)
    _record(context, parts)


def of_loader(context: ProbeContext, loader: Any) -> None:
    """Of a loader of the user's own: arrays among its attributes, or lists of boxes."""
    _record(context, of_arrays(list(_kept(loader))))


def _record(context: ProbeContext, parts: list[dict[str, Any]]) -> None:
    if parts:
        marked = [{**part, "found": "stored"} for part in parts]
        context.record(BatchSeen(role="train", step=context.heartbeat.step, parts=marked))


def of_arrays(named: list[tuple[str, Any]]) -> list[dict[str, Any]]:
    """One part for each array of numbers: whether it is finite, and boxes in it that cannot be."""
    found = []
    for name, array in named:
        if array.dtype.kind not in "fiu" or not array.size or array.nbytes > _MOST_BYTES:
            continue
        known = BoxColumns()
        known.learn([array])
        judged = judge(array, 0, known) or {}
        found.append({"finite": True, **judged, "path": name, "shape": list(array.shape)})
    return found


def _kept(loader: Any) -> Iterator[tuple[str, Any]]:
    import numpy as np

    for name, value in list(getattr(loader, "__dict__", {}).items())[:_MOST_ATTRIBUTES]:
        if isinstance(value, np.ndarray) and value.ndim:
            yield name, value
        elif isinstance(value, (list, tuple)) and value:
            yield from ((name, array) for array in _rows_of_four(value, np))


def _rows_of_four(items: Any, np: Any) -> Iterator[Any]:
    """Boxes of a list: rows of four numbers, or arrays of such rows, also as a part of each item."""
    first = items[0]
    places = range(len(first)) if isinstance(first, (list, tuple)) else ()
    ways = [lambda item: item, *((lambda item, place=place: item[place]) for place in places)]
    for way in ways:
        try:
            rows = [np.asarray(way(item)) for item in items[:_MOST_ITEMS]]
            if all(one.dtype.kind in "fiu" and one.ndim in (1, 2) and one.shape[-1:] == (4,) for one in rows):
                yield np.concatenate([one.reshape(-1, 4) for one in rows])
        except (IndexError, KeyError, TypeError, ValueError):
            continue


def _of_records(path: str, end: float) -> list[dict[str, Any]]:
    """All lists of floats in a file: finite or not, boxes by their edges or as rows of four."""
    import numpy as np

    by_name: dict[str, list[Any]] = {}
    owners: dict[str, list[int]] = {}
    rows: list[int] = []
    inverted = 0
    edges: list[float] = []
    for number, record in enumerate(records(path)):
        if time.monotonic() > end:
            break
        features = floats_of(record)
        for pair in inverted_pairs(features):
            inverted += 1
            rows += [number] if number not in rows[-1:] else []
            edges = edges or [round(value, 4) for value in pair]
        for name, values in features.items():
            by_name.setdefault(name, []).append(np.asarray(values))
            owners.setdefault(name, []).append(number)
    if not by_name:
        return []
    part: dict[str, Any] = {"path": path, "finite": True}
    for name, lists in by_name.items():
        part["finite"] = part["finite"] and all(bool(np.isfinite(one).all()) for one in lists)
        fours = [one.reshape(-1, 4) for one in lists if one.size % 4 == 0]
        if inverted or len(fours) != len(lists):
            continue
        judged = of_arrays([(name, np.concatenate(fours))])[0].get("boxes")
        if judged:
            record_of = [owner for owner, four in zip(owners[name], fours) for _ in four]
            bad = sorted({record_of[row] for row in judged["rows"]})
            part["boxes"] = {**judged, "rows": bad, "feature": name}
    if inverted:
        part["boxes"] = {"inverted": inverted, "rows": rows[:_ROWS], "first": edges}
    return [part]
