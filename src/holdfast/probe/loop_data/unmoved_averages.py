"""Moving averages of batch normalisation that a jitted step of JAX computes and throws away.

A state of the model is an argument there like any other. Averages are zeros and ones, of the same shape, that the step
reads and its loss does not depend on: it normalises by the batch. What an evaluation is given later shows whether they
have moved.
"""

from __future__ import annotations

import sys
import time
from typing import Any, NamedTuple

from ...journal.events import AveragesUnmoved
from ..runtime import user_lines
from ..runtime.context import ProbeContext

PART = "unmoved_averages"
_MOST_VALUES = 65_536
_MOST_FUNCTIONS = 20  # that do not train, and are looked at
_SHARE = 0.003  # of the time that looking may take
_ZEROS, _ONES = 0.0, 1.0


class _Average(NamedTuple):
    """What an average began as."""

    value: float
    shape: tuple[int, ...]


class _Evaluation(NamedTuple):
    """The newest call of a function that reads arrays of these shapes."""

    step: int
    where: str
    read: list[Any]


class UnmovedAverages:
    """Of all jitted functions of a process."""

    def __init__(self, context: ProbeContext) -> None:
        self._context = context
        self.new_run()

    def new_run(self) -> None:
        self._candidates: dict[int, str] = {}  # by their places among the arguments of the step
        self._unmoved: dict[int, _Average] = {}
        self._where = ""
        self._read_by: dict[int, frozenset[int]] = {}  # arguments, by the function that does not train
        self._not_before_ns = 0
        self._newest: _Evaluation | None = None

    def step_read(self, jaxpr: Any, given: Any, weights: set[int], loss_place: int, where: str) -> None:
        """The program of a step, after its first call; arrays that were donated to that are gone."""
        names = _names(given)
        by_loss = read_arguments(jaxpr, [at == loss_place for at in range(len(jaxpr.outvars))])
        if self._candidates or by_loss is None or len(names) != len(jaxpr.invars):
            return
        read = {id(var) for eqn in jaxpr.eqns for var in eqn.invars}
        self._candidates = {
            place: names[place]
            for place, var in enumerate(jaxpr.invars)
            if place not in weights | by_loss and id(var) in read
        }
        self._where = where

    def step_begins(self, given: Any) -> None:
        """At some calls of the step after its first one: averages that have moved are none of these."""
        if not self._candidates:
            return
        arrays = _leaves(given)
        found = {at: _average(arrays[at]) for at in self._candidates if at < len(arrays)}
        unmoved = _in_pairs({at: one for at, one in found.items() if one is not None})
        if unmoved and not self._unmoved:
            self._context.at_exit.append(self._write)
        self._candidates = {at: name for at, name in self._candidates.items() if at in unmoved}
        self._unmoved = unmoved

    def evaluated(self, function: Any, given: Any) -> None:
        """A jitted function that does not train was called. What it read is kept, and looked at when the process ends:
        it may not be computed yet."""
        if not self._unmoved or time.perf_counter_ns() < self._not_before_ns:
            return
        arrays = _leaves(given)
        places = self._places(function, given, len(arrays))  # asks once for the program, which takes long
        begun = time.perf_counter_ns()
        shapes = {one.shape for one in self._unmoved.values()}
        read = [arrays[place] for place in places if tuple(getattr(arrays[place], "shape", ())) in shapes]
        if read:
            where = user_lines.of_function(getattr(function, "__wrapped__", function))
            self._newest = _Evaluation(self._context.heartbeat.step, where, read)
        self._not_before_ns = begun + int((time.perf_counter_ns() - begun) / _SHARE)

    def _places(self, function: Any, given: Any, count: int) -> frozenset[int]:
        places = self._read_by.get(id(function))
        if places is None:
            trace = getattr(function, "trace", None)
            found: set[int] | None = set()
            if trace is not None and len(self._read_by) < _MOST_FUNCTIONS:
                jaxpr = trace(*given[0], **given[1]).jaxpr.jaxpr
                same = len(jaxpr.invars) == count
                found = read_arguments(jaxpr, [True] * len(jaxpr.outvars)) if same else set()
            places = self._read_by[id(function)] = frozenset(found or ())
        return places

    def _write(self) -> None:
        newest = self._newest
        if (
            newest is None
            or not self._unmoved
            or not set(self._unmoved.values()) <= set(map(_average, newest.read))
        ):
            return
        self._context.record(
            AveragesUnmoved(
                step=newest.step,
                names=list(self._candidates.values()),
                where=self._where,
                evaluated=newest.where,
            )
        )


def read_arguments(jaxpr: Any, outputs: list[bool]) -> set[int] | None:
    """The places of the arguments that these outputs are computed from; None where JAX has no way to ask for it."""
    evaluation = sys.modules.get("jax._src.interpreters.partial_eval")
    reduce = getattr(evaluation, "dce_jaxpr", None)
    if reduce is None:
        return None
    return {place for place, used in enumerate(reduce(jaxpr, outputs)[1]) if used}


def _in_pairs(found: dict[int, _Average]) -> dict[int, _Average]:
    """Means and variances: as many zeros as ones of a shape, or they are something else."""
    shapes = {one.shape for one in found.values()}
    counts = {
        shape: [list(found.values()).count(_Average(value, shape)) for value in (_ZEROS, _ONES)]
        for shape in shapes
    }
    return {at: one for at, one in found.items() if counts[one.shape][0] == counts[one.shape][1] > 0}


def _average(array: Any) -> _Average | None:
    """What it may be the beginning of: all its values are 0, or all are 1."""
    import numpy as np

    shape = tuple(getattr(array, "shape", ()))
    small = 0 < int(np.prod(shape, dtype="int64")) <= _MOST_VALUES
    if not shape or not small or "float" not in str(getattr(array, "dtype", "")):
        return None
    if getattr(array, "is_deleted", bool)():
        return None
    values = np.asarray(array).astype("float32", copy=False)
    first = float(values.reshape(-1)[0])
    return _Average(first, shape) if first in (_ZEROS, _ONES) and bool((values == first).all()) else None


def _names(given: Any) -> list[str]:
    pairs = sys.modules["jax"].tree_util.tree_flatten_with_path(given)[0]
    names = [".".join(map(_key, path[2:])) for path, _ in pairs]
    return [name or f"argument {place + 1}" for place, name in enumerate(names)]


def _key(part: Any) -> str:
    return str(getattr(part, "key", getattr(part, "name", getattr(part, "idx", part))))


def _leaves(tree: Any) -> list[Any]:
    return list(sys.modules["jax"].tree_util.tree_leaves(tree))
