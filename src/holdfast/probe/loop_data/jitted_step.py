"""What a jitted step of JAX is given: which arguments are weights and which are data, and how far the weights move.

The weights are the run of arrays, in one argument, that has the shapes of the gradient; data are arrays that are no
weights and do not come out of the step again. Both are read at the first calls and at every doubling of their number:
how far one step changes the weights shows a learning rate that lies in a schedule or a closure.
"""

from __future__ import annotations

import sys
from typing import Any

from ...journal.events import DropoutSeen, IndexOutOfRange, OutputSeen, WeightsLeftAlone, WeightsMoved
from ..learning import weight_motion, weight_sample
from ..learning.weight_sample import Sampled
from ..runtime import user_lines
from ..runtime.context import ProbeContext
from ..state import model_facts
from . import jax_dropout, jax_lookups, jax_loss, step_arguments, unmoved_averages

PART = "jitted_step"
_MOST_WEIGHTS, _MOST_VALUES = 100, 2_000_000
_FEWEST_CALLS = 4
_SMALL, _MOST_SMALL = 4_096, 8  # weights that are kept until the loss of their step is read
_MOST_LOOKUPS = 8
_RANGES = 50  # calls whose integers are looked at, and every doubling after them


class JittedStep:
    """Of one function that trains."""

    def __init__(self, context: ProbeContext) -> None:
        self._context = context
        self._calls = 0
        self._start: dict[int, Sampled] = {}
        self._before: dict[int, Sampled] = {}
        self._weights: tuple[int, ...] | None = None  # places among the flattened arguments
        self._state: set[int] = set()
        self._loss: jax_loss.TracedLoss | None = None
        self._small: tuple[int, ...] = ()  # places of weights, the last ones first
        self._lookups: list[jax_lookups.Lookup] = []
        self._where = ""
        self._reported: set[jax_lookups.Lookup] = set()
        self._ranges: dict[jax_lookups.Lookup, tuple[int, int]] = {}
        self._beyond: dict[jax_lookups.Lookup, set[int]] = {}  # ids, of each lookup
        self.given: list[Any] = []  # small weights that the newest call was given

    def begins(self, given: Any) -> None:
        """Before a call: weights that are donated are there only now."""
        self._calls += 1
        if self._weights is None:
            return
        calls, doubled = self._calls, self._calls & (self._calls - 1) == 0
        if self._small:
            arrays = _leaves(given)
            self.given = [arrays[place] for place in self._small if place < len(arrays)]
        if not (calls <= _FEWEST_CALLS or doubled or self._before):
            return
        self._context.guard(unmoved_averages.PART, self._context.unmoved_averages.step_begins, given)
        now = _sampled(given, self._weights)
        if self._before:
            self._record("step", self._before, now)
        self._before = now if doubled and calls >= _FEWEST_CALLS else {}
        if not self._start:
            self._start = now
        elif calls >= _FEWEST_CALLS and doubled:
            self._record("start", self._start, now)

    def _record(self, since: str, before: dict[int, Sampled], now: dict[int, Sampled]) -> None:
        variables = weight_motion.all_compared(before, now, 1)
        if variables:
            self._context.record(WeightsMoved(since=since, step=self._calls - 1, variables=variables))

    def ends(
        self, function: Any, given: Any, result: Any, shapes: tuple[tuple[int, ...], ...], loss: Any
    ) -> None:
        if self._weights is None and shapes:
            self._weights = weights_in(given, shapes) or ()
            self._state = _comes_out(given, result)
            sizes = [model_facts.size(one) for one in _leaves(given)]
            self._small = tuple(
                [place for place in self._weights[::-1] if 0 < sizes[place] <= _SMALL][:_MOST_SMALL]
            )
            self._context.guard(PART, self._read_program, function, given, result, loss)
        if self._lookups and (self._calls <= _RANGES or self._calls & (self._calls - 1) == 0):
            self._look_up(_leaves(given))
        calls = self._context.loss_calls
        if calls.wants_rows_of("arguments"):
            inputs, targets = self._data(given)
            if inputs is not None:
                calls.passed("arguments", inputs, targets)

    def _data(self, given: Any) -> tuple[Any, Any]:
        arrays = _leaves(given)
        if self._loss is not None:
            found = [[arrays[i] for i in places if i < len(arrays) and _is_batch(arrays[i])] for places in
                     (self._loss.inputs, self._loss.targets)]  # fmt: skip
            if found[0]:
                return on_host(found[0][0]), on_host(found[1][0]) if found[1] else None
        own = set(self._weights or ()) | self._state
        data = [on_host(one) for place, one in enumerate(arrays) if place not in own and _is_batch(one)]
        return step_arguments.by_order(data)

    def _look_up(self, arrays: list[Any]) -> None:
        for one in self._lookups:
            values = on_host(arrays[one.place]) if one.place < len(arrays) else None
            if values is None or not values.size:
                continue
            low, high = int(values.min()) + one.shift, int(values.max()) + one.shift
            before = self._ranges.get(one, (low, high))
            now = self._ranges[one] = min(low, before[0]), max(high, before[1])
            if now[1] < one.size:
                continue
            ids = self._beyond.setdefault(one, set())
            few = len(ids)
            if high >= one.size:
                ids.update(jax_lookups.beyond(values, one))
            if one not in self._reported or now != before or few < len(ids):
                self._reported.add(one)
                self._context.record(
                    IndexOutOfRange(
                        step=self._context.heartbeat.step, low=now[0], high=now[1], size=one.size, how=one.how,
                        table=one.table, beyond=len(ids), where=self._where,
                        label=self._loss is not None and one.place in self._loss.targets,
                    )
                )  # fmt: skip

    def _read_program(self, function: Any, given: Any, result: Any, loss: Any) -> None:
        """JAX keeps the program that it has traced; asking for it traces nothing."""
        trace = getattr(function, "trace", None)
        outputs = _leaves(result)
        place = (
            next((at for at, one in enumerate(outputs) if one is loss), None) if loss is not None else None
        )
        if trace is None or place is None or self._weights is None:
            return
        jaxpr = trace(*given[0], **given[1]).jaxpr.jaxpr
        if len(jaxpr.invars) != len(_leaves(given)) or len(jaxpr.outvars) != len(outputs):
            return
        where = self._where = user_lines.of_function(getattr(function, "__wrapped__", function))
        weights = set(self._weights)
        integers = {place for place, value in enumerate(_leaves(given)) if is_integer(value)} - weights
        self._lookups = jax_lookups.found(jaxpr, integers, weights)[:_MOST_LOOKUPS]
        self._context.guard(PART, self._look_for_change, jaxpr)
        averages = self._context.unmoved_averages
        self._context.guard(unmoved_averages.PART, averages.step_read, jaxpr, given, weights, place, where)
        rates = self._context.guard(PART, jax_dropout.rates, jaxpr)
        if rates:
            self._context.record(DropoutSeen(step=self._calls, rates=rates, where=where))
        self._loss = one = jax_loss.read(jaxpr, jaxpr.outvars[place], weights)
        if one is None:
            return
        shape = one.prediction_shape
        self._context.record(
            OutputSeen(
                by="call", layer=one.layer, units=shape[-1] if len(shape) > 1 else 1, activation=one.activation,
                where=where, loss=one.loss, from_logits=one.from_logits, loss_where=where, part=one.part,
                prediction_shape=list(shape), target_shape=list(one.target_shape) if one.target_shape else None,
            )
        )  # fmt: skip

    def _look_for_change(self, jaxpr: Any) -> None:
        """Whether any set of results with the shapes of the weights depends on what is trained on."""
        places = list(self._weights or ())
        shapes = [tuple(one.aval.shape) for one in jaxpr.invars]
        results = [tuple(getattr(one.aval, "shape", ())) for one in jaxpr.outvars]
        wanted = [shapes[place] for place in places]
        runs = [
            range(at, at + len(wanted)) for at in range(len(results)) if results[at:][: len(wanted)] == wanted
        ]
        if not wanted or not runs:
            return
        returned = any(
            [jaxpr.outvars[at] for at in run] == [jaxpr.invars[at] for at in places] for run in runs
        )
        follow = [any(jax_loss.follows(jaxpr, list(run), {*places, *self._state})) for run in runs]
        if returned or not any(follow):
            self._context.record(
                WeightsLeftAlone(where=self._where, returned=returned and any(follow), weights=len(places))
            )


def weights_in(given: Any, shapes: tuple[tuple[int, ...], ...]) -> tuple[int, ...]:
    """The first run of arrays with the shapes of the gradient, in their order."""
    arrays = [tuple(getattr(one, "shape", ())) for one in _leaves(given)]
    wanted = list(shapes)
    for start in range(len(arrays) - len(wanted) + 1):
        if arrays[start : start + len(wanted)] == wanted:
            return tuple(range(start, start + len(wanted)))
    return ()


def _comes_out(given: Any, result: Any) -> set[int]:
    """Arguments that the step gives back in the same form: a state of the optimizer, a key."""
    tree = sys.modules["jax"].tree_util
    outputs = {_form(one) for one in (result if isinstance(result, (list, tuple)) else [result])}
    found, place = set(), 0
    for one in [*given[0], *[given[1][key] for key in sorted(given[1])]]:
        size = len(tree.tree_leaves(one))
        if _form(one) in outputs:
            found |= set(range(place, place + size))
        place += size
    return found


def _form(value: Any) -> Any:
    tree = sys.modules["jax"].tree_util
    leaves, structure = tree.tree_flatten(value)
    return structure, tuple(
        (tuple(getattr(one, "shape", ())), str(getattr(one, "dtype", ""))) for one in leaves
    )


def _leaves(tree: Any) -> list[Any]:
    return list(sys.modules["jax"].tree_util.tree_leaves(tree))


def _is_batch(value: Any) -> bool:
    shape: Any = getattr(value, "shape", ())
    kind = str(getattr(value, "dtype", ""))
    is_key = kind.startswith("key") or (kind == "uint32" and tuple(shape) == (2,))
    return len(shape) > 0 and int(shape[0]) > 1 and not is_key


def is_integer(value: Any) -> bool:
    kind = str(getattr(value, "dtype", ""))
    return kind.startswith(("int", "uint")) and not (kind == "uint32" and tuple(value.shape) == (2,))  # a key


def on_host(value: Any) -> Any:
    """As NumPy has it, where that is a view of memory of the host."""
    import numpy as np

    if isinstance(value, np.ndarray):
        return value
    if getattr(value, "is_deleted", bool)():  # it was donated to the call
        return None
    devices = getattr(value, "devices", None)
    on_host = callable(devices) and all(one.platform == "cpu" for one in devices())
    return np.asarray(value) if on_host else None


def _sampled(given: Any, places: tuple[int, ...]) -> dict[int, Sampled]:
    import numpy as np

    found: dict[int, Sampled] = {}
    pairs = sys.modules["jax"].tree_util.tree_flatten_with_path(given)[0]
    for number, place in enumerate(places[:_MOST_WEIGHTS]):
        path, value = pairs[place]
        if model_facts.size(value) > _MOST_VALUES or "float" not in str(value.dtype):
            continue
        names = [str(getattr(key, "key", getattr(key, "name", getattr(key, "idx", key)))) for key in path][2:]
        flat = np.asarray(value).astype("float32").reshape(-1)
        if flat.size:
            layer = ".".join(names) or f"weight {number + 1}"
            found[number] = weight_sample.of_values("", layer, flat, tuple(value.shape))
    return found
