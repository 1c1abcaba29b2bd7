"""Which arguments of a traced step are its inputs and its labels, whatever the loop takes them from.

A tf.function that is given arrays has a placeholder for each; those below the prediction are inputs, the one below the
other side of the loss is the label. Where the loss is not known, the order decides: inputs, labels, weights.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ..runtime.context import ProbeContext
from ..runtime.weak_references import weak

PART = "step_arguments"
_MOST_NODES = 3_000
_MOST_ARRAYS = 6


class Roles(NamedTuple):
    inputs: tuple[int, ...]  # places among the arrays that the function is given
    targets: tuple[int, ...]


class StepArguments:
    def __init__(self, context: ProbeContext) -> None:
        self._context = context
        self.new_run()

    def new_run(self) -> None:
        self._roles: dict[int, tuple[Any, Roles]] = {}  # by the function's number

    def compared(self, function: Any, prediction: Any, target: Any) -> None:
        """Symbols of a function that is being traced: what its loss compares."""
        known = self._roles.get(id(function))
        if known is not None and known[0]() is function:
            return
        graph = getattr(prediction, "graph", None)
        places = {id(one.op): place for place, one in enumerate(getattr(graph, "inputs", None) or [])}
        if not places:
            return
        inputs, targets = _below(prediction, places), _below(target, places)
        targets = targets - inputs
        if inputs:
            self._roles[id(function)] = weak(function), Roles(tuple(sorted(inputs)), tuple(sorted(targets)))

    def called(self, function: Any, args: Any, kwargs: Any) -> None:
        """A step of the loop has ended; its arguments are still there."""
        calls = self._context.loss_calls
        if not calls.wants_rows_of("arguments"):
            return
        arrays = _flat([args, kwargs])
        known = self._roles.get(id(function))
        roles = known[1] if known is not None and known[0]() is function else None
        if roles is None:
            inputs, targets = by_order(arrays)
        else:
            inputs = next((arrays[i] for i in roles.inputs if i < len(arrays) and _is_data(arrays[i])), None)
            targets = next(
                (arrays[i] for i in roles.targets if i < len(arrays) and _is_data(arrays[i])), None
            )
        if inputs is not None:
            calls.passed("arguments", inputs, targets)


def by_order(arrays: list[Any]) -> tuple[Any, Any]:
    """Inputs and labels, where the arrays have as many rows each; else nothing."""
    data = [one for one in arrays if _is_data(one)]
    if not 1 <= len(data) <= 3 or len(data) != len([one for one in arrays if _rank(one)]):
        return None, None
    if len({int(one.shape[0]) for one in data}) != 1:
        return None, None
    return data[0], data[1] if len(data) > 1 else None


def _is_data(value: Any) -> bool:
    return _rank(value) > 0 and hasattr(value, "dtype") and not hasattr(value, "assign")


def _rank(value: Any) -> int:
    shape = getattr(value, "shape", None)
    try:
        return len(shape) if shape is not None else 0
    except (TypeError, ValueError):
        return 0


def _flat(value: Any) -> list[Any]:
    """What TensorFlow makes placeholders of, in its order: dictionaries by their keys."""
    if isinstance(value, dict):
        try:
            keys = sorted(value)
        except TypeError:
            keys = list(value)
        return [leaf for key in keys for leaf in _flat(value[key])]
    if isinstance(value, (list, tuple)):
        return [leaf for item in value for leaf in _flat(item)]
    return [value] if hasattr(value, "shape") and hasattr(value, "dtype") else []


def _below(symbol: Any, places: dict[int, int]) -> set[int]:
    found: set[int] = set()
    pending: list[Any] = [symbol]
    seen: set[int] = set()
    while pending and len(seen) < _MOST_NODES:
        one = pending.pop()
        if id(one.op) in seen:
            continue
        seen.add(id(one.op))
        if id(one.op) in places:
            if str(one.dtype.name) != "resource":
                found.add(places[id(one.op)])
            continue
        pending += list(one.op.inputs)
    return found if len(found) <= _MOST_ARRAYS else set()
