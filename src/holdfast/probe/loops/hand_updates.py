"""Training without an optimizer: `w -= rate * gradient`, seen by weights that differ from one gradient to the next.

A gradient of an image or a point, as for a saliency map, leaves the weights as they are.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from ...journal.events import WeightsMoved
from ..learning import weight_motion, weight_sample
from ..learning.weight_sample import Sampled
from ..runtime.context import ProbeContext
from ..runtime.weak_references import weak
from ..state import finiteness, model_facts

PART = "hand_updates"
_COMPARED, _SMALL = 4, 4_096
_FEWEST_WEIGHTS = 2
_TRIES = 20  # gradients after which weights that are as before are not trained


class HandUpdates:
    def __init__(self, context: ProbeContext) -> None:
        self._context = context
        self.new_run()

    def new_run(self) -> None:
        self._before: list[Any] = []
        self._taken = 0
        self._functions: dict[int, _Traced] = {}  # tf.functions that take gradients
        self._trains: bool | None = None  # None while that is open
        self._sampled: dict[int, Sampled] = {}  # before a step whose change is recorded

    @property
    def over(self) -> bool:
        return self._trains is False

    def taken(self, weights: Callable[[], list[Any]]) -> None:
        """A gradient of these is about to be computed, or has been; the loop knows its loss."""
        loop = self._context.loop
        if self._trains is False or loop.optimizer is not None or loop.quiet:
            return
        if loop.traces.stack:
            self._traced(loop.traces.stack[0][0], weights())
            return
        self._taken += 1
        if self._trains:
            loop.hand_stepped(1)
            self._context.guard(weight_motion.PART, self._compare, weights)
            return
        now = _state(weights())
        if len(now) < _FEWEST_WEIGHTS or self._taken > _TRIES:
            self._trains = False
        elif _changed(self._before, now):
            self._trains = True
            loop.hand_stepped(self._taken)
        self._before = now

    def _compare(self, weights: Callable[[], list[Any]]) -> None:
        """How far a step changes them, at every doubling of their number: a rate in a closure shows nowhere else."""
        doubled = self._taken & (self._taken - 1) == 0
        if not doubled and not self._sampled:
            return
        now = weight_sample.sample(SimpleNamespace(trainable_variables=weights()), at_rest=False)
        variables = weight_motion.all_compared(self._sampled, now, 1)
        if variables:
            self._context.record(WeightsMoved(since="step", step=self._taken - 1, variables=variables))
        self._sampled = now if doubled else {}

    def _traced(self, function: Any, weights: list[Any]) -> None:
        """A tf.function takes their gradient; whether it changes them is known after a call or two."""
        if len(weights) >= _FEWEST_WEIGHTS and len(self._functions) < _TRIES:
            self._functions[id(function)] = _Traced([weak(one) for one in weights])

    def changed_by(self, function: Any) -> bool:
        """A call of it has ended: whether it changes weights, by itself, from call to call."""
        one = self._functions.get(id(function))
        if one is None or self._context.loop.optimizer is not None:
            return False
        now = _state([weight for weight in (reference() for reference in one.weights) if weight is not None])
        changed, one.before = _changed(one.before, now), now
        one.calls += 1
        if changed or one.calls > _TRIES:
            del self._functions[id(function)]
        return changed


class _Traced:
    def __init__(self, weights: list[Callable[[], Any]]) -> None:
        self.weights = weights
        self.before: list[Any] = []
        self.calls = 0


def _state(weights: list[Any]) -> list[Any]:
    small = [one for one in weights if model_facts.size(one) <= _SMALL][-_COMPARED:]
    found = [(tuple(one.shape), _digest(one)) for one in small]
    return [one for one in found if one[1]]


def _changed(before: list[Any], now: list[Any]) -> bool:
    if [shape for shape, _ in before] != [shape for shape, _ in now]:
        return False
    different = sum(one != other for one, other in zip(before, now))
    return different >= _FEWEST_WEIGHTS and 2 * different >= len(now)


def _digest(weight: Any) -> str:
    value = finiteness.raw(weight)
    if not finiteness.in_host_memory(value):
        return ""
    value = value.detach().float() if hasattr(value, "detach") else value
    return hashlib.sha256(value.numpy().tobytes()).hexdigest()
