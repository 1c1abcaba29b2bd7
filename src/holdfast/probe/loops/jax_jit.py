"""Steps of a loop on JAX, whatever feeds it: calls of the functions that the user gave to `jax.jit`.

Which of them trains is known when it is traced: an optimizer of Keras is asked for new weights inside it, or the
gradient of a whole set of weights is taken in it and as many arrays of the same shapes come out. A gradient that is
taken outside of any jitted function is a step by itself.
JAX computes in the background; a loss is read at a later call, and only once it is computed.
"""

from __future__ import annotations

import copy
import sys
import time
import types
from collections import deque
from collections.abc import Callable
from typing import Any

from ..runtime import user_lines
from ..runtime.context import ProbeContext
from ..runtime.hook import Hook
from ..runtime.wrapping import Function, replace
from . import jax_gradients

PART = "jax_jit"
_ALWAYS_FIRST = 20  # losses that are read whatever it takes: most that break do so soon
_MAX_WAITING = 64
_SHARE = 0.003  # of the time that reading losses may take


class JitSteps:
    """The jitted functions of a process, and the one that is being called."""

    def __init__(self, context: ProbeContext) -> None:
        self._context = context
        self._loop = context.loop  # which counts the steps that are found here
        self._calls: list[JitFunction] = []
        self._waiting: deque[tuple[int, Any]] = deque()  # steps with their losses, not read yet
        self._not_before_ns = 0
        self._read = 0

    def mark_training(self) -> bool:
        """The outermost function that is being called trains. False when none is."""
        if self._calls:
            self._calls[0].trains = True
        return bool(self._calls)

    @property
    def in_call(self) -> bool:
        return bool(self._calls)

    def begins(self, function: JitFunction) -> None:
        self._calls.append(function)

    def traced_without_call(self) -> None:
        """A function was traced and not called."""
        self._calls.pop()

    def ends(self, function: JitFunction, result: Any) -> None:
        self._calls.pop()
        if self._calls:
            return
        if function.differentiates and not function.trains:
            function.trains = jax_gradients.come_out(function.differentiates, result)
            function.differentiates = ()
        if function.trains:
            self._stepped(self._loop.losses_of(function.function, result).get("loss"))

    def gradient_taken(self, slopes: list[Any], loss: Any) -> None:
        """The gradient of a set of weights was taken, by code of the user's own."""
        if self._calls:
            self._calls[0].differentiates = self._calls[0].differentiates or jax_gradients.shapes(slopes)
        elif not jax_gradients.traced(slopes) and not self._loop.has_optimizer:
            self._stepped(loss)

    def _stepped(self, loss: Any) -> None:
        if self._loop.quiet:  # inside a fit, which has steps of its own
            return
        self._loop.jit_stepped()
        if loss is not None and len(self._waiting) < _MAX_WAITING:
            self._waiting.append((self._context.heartbeat.step, loss))
        self.read_losses()

    def read_losses(self) -> None:
        """Those of late that are computed, as long as reading them takes little time."""
        while self._waiting and _is_ready(self._waiting[0][1]):
            begun = time.perf_counter_ns()
            step, loss = self._waiting.popleft()
            if begun < self._not_before_ns:
                continue
            value = float(loss)
            self._read += 1
            if self._read > _ALWAYS_FIRST:
                self._not_before_ns = begun + int((time.perf_counter_ns() - begun) / _SHARE)
            self._loop.jit_loss(step, value)


class JitFunction:
    """What is known of one jitted function."""

    __slots__ = ("context", "differentiates", "function", "steps", "trains")

    def __init__(self, function: Any, steps: JitSteps, context: ProbeContext) -> None:
        self.function = function
        self.steps = steps
        self.context = context
        self.trains = False
        self.differentiates: tuple[tuple[int, ...], ...] = ()  # shapes of a gradient that is taken in it

    def traced(self, method: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The call after it need not trace again: who trains is found here."""
        self.context.guard(PART, self.steps.begins, self)
        try:
            return method(*args, **kwargs)
        finally:
            self.context.guard(PART, self.steps.traced_without_call)

    def copied(self, function: Any) -> ObservedJit:
        """A copy of the function shares what it has traced: it need not trace again to train."""
        copied = ObservedJit(function, self.steps, self.context)
        observed = _observed(copied)
        observed.trains, observed.differentiates = self.trains, self.differentiates
        return copied


class ObservedJit:
    """A function of `jax.jit` whose calls are observed, and which is the function itself in everything else.

    Every attribute but these few is the function's, its class among them. So are its copies and its pickle.
    """

    __slots__ = ("__weakref__", "_holdfast")

    def __init__(self, function: Any, steps: JitSteps, context: ProbeContext) -> None:
        object.__setattr__(self, "_holdfast", JitFunction(function, steps, context))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        observed = _observed(self)
        if not observed.context.is_on(PART):
            return observed.function(*args, **kwargs)
        observed.context.guard(PART, observed.steps.begins, observed)
        result = None
        try:
            result = observed.function(*args, **kwargs)
            return result
        finally:
            observed.context.guard(PART, observed.steps.ends, observed, result)

    def lower(self, *args: Any, **kwargs: Any) -> Any:
        observed = _observed(self)
        return observed.traced(observed.function.lower, args, kwargs)

    def trace(self, *args: Any, **kwargs: Any) -> Any:
        observed = _observed(self)
        return observed.traced(observed.function.trace, args, kwargs)

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else types.MethodType(self, instance)

    def __copy__(self) -> ObservedJit:
        return _observed(self).copied(copy.copy(_observed(self).function))

    def __deepcopy__(self, memo: dict[int, Any]) -> ObservedJit:
        return _observed(self).copied(copy.deepcopy(_observed(self).function, memo))

    def __getattribute__(self, name: str) -> Any:
        if name in _OWN:
            return object.__getattribute__(self, name)
        return getattr(_observed(self).function, name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(_observed(self).function, name, value)

    def __delattr__(self, name: str) -> None:
        delattr(_observed(self).function, name)

    def __dir__(self) -> list[str]:
        return dir(_observed(self).function)

    def __repr__(self) -> str:
        return repr(_observed(self).function)


_OWN = frozenset({"lower", "trace", "__call__", "__get__", "__copy__", "__deepcopy__"})


def _observed(function: ObservedJit) -> JitFunction:
    observed: JitFunction = object.__getattribute__(function, "_holdfast")
    return observed


def hook(context: ProbeContext, module: Any) -> None:
    """`jax.jit` as the user's own code calls it; the framework's own functions stay as they are."""
    steps = JitSteps(context)
    context.loop.jitted = steps

    def build(original: Function) -> Function:
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            function = original(*args, **kwargs)
            users = user_lines.is_user_file(sys._getframe(1).f_code.co_filename)
            jitted = type(function).__name__ == "PjitFunction"
            return ObservedJit(function, steps, context) if users and jitted else function

        return wrapped

    replace(module, "jit", build)
    jax_gradients.hook(context, module, steps.gradient_taken)


def _is_ready(value: Any) -> bool:
    ready = getattr(value, "is_ready", None)
    return bool(ready()) if callable(ready) else False


JAX_HOOKS = (Hook(PART, "jax", hook),)
