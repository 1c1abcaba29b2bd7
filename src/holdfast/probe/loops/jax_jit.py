"""Steps of a loop on JAX, whatever feeds it: calls of the functions that the user gave to `jax.jit`.

Which of them trains is known when it is traced: an optimizer of Keras is asked for new weights inside it, or the
gradient of a whole set of weights is taken in it and as many arrays of the same shapes come out. A gradient that is
taken outside of any jitted function is a step by itself.
JAX computes in the background; a loss is read at a later call, and only once it is computed.
"""

from __future__ import annotations

import copy
import math
import sys
import time
import types
from collections import deque
from collections.abc import Callable
from typing import Any, NamedTuple

from ..loop_data import fit_step, jitted_step, unmoved_averages
from ..runtime.context import ProbeContext
from ..runtime.hook import Hook
from ..runtime.weak_references import weak
from ..runtime.wrapping import Function, replace
from . import jax_gradients

PART = "jax_jit"
_ALWAYS_FIRST = 20  # losses that are read whatever it takes: most that break do so soon
_MAX_WAITING = 64
_MOST_AT_END = 20  # no more than are read whatever it takes
_SHARE = 0.003  # of the time that reading losses may take


class JitSteps:
    """The jitted functions of a process, and the one that is being called."""

    def __init__(self, context: ProbeContext) -> None:
        self._context = context
        self._loop = context.loop  # which counts the steps that are found here
        self._calls: list[JitFunction] = []
        self._waiting: deque[_Unread] = deque()
        self._not_before_ns = 0
        self._read = 0
        self._newest: deque[_Unread] = deque(maxlen=_MOST_AT_END)  # that there was no time to read
        self._last_read = 0  # the newest step whose loss was read, and was finite
        self._broken = False
        self._newest_loss: Callable[[], Any] = lambda: None
        self._slopes: list[Any] = []  # small arrays of the newest gradient outside of jitted functions

    def mark_training(self) -> bool:
        """The outermost function that is being called trains. False when none is."""
        if self._calls:
            self._calls[0].trains = True
        return bool(self._calls)

    @property
    def in_call(self) -> bool:
        return bool(self._calls)

    @property
    def result(self) -> str:
        """Of the newest step: pending | ready | unknown. A step that is called and has not returned is pending."""
        if self._calls and self._calls[0].trains:
            return "pending"
        loss = self._newest_loss()
        if loss is None or bool(getattr(loss, "is_deleted", bool)()):
            return "unknown"
        return "ready" if _is_ready(loss) else "pending"

    def begins(self, function: JitFunction, args: Any = (), kwargs: Any = None) -> None:
        self._calls.append(function)
        if len(self._calls) == 1 and not self._loop.quiet:
            function.given = args, kwargs or {}
            if function.trains:
                self._context.guard(jitted_step.PART, function.seen.begins, function.given)

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
        given, function.given = function.given, None
        if function.trains:
            loss = self._loop.losses_of(function.function, result).get("loss")
            self._stepped(loss, function.seen.given)
            if given is not None and result is not None:
                self._context.guard(
                    jitted_step.PART,
                    function.seen.ends,
                    function.function,
                    given,
                    result,
                    function.slopes,
                    loss,
                )
        elif given is not None and result is not None:
            averages = self._context.unmoved_averages
            self._context.guard(unmoved_averages.PART, averages.evaluated, function.function, given)

    def gradient_taken(self, slopes: list[Any], loss: Any) -> None:
        """The gradient of a set of weights was taken, by code of the user's own."""
        if self._calls:
            self._calls[0].differentiates = self._calls[0].differentiates or jax_gradients.shapes(slopes)
            self._calls[0].slopes = self._calls[0].slopes or jax_gradients.shapes(slopes)
        elif not jax_gradients.traced(slopes) and self._loop.optimizer is None:
            before, self._slopes = self._slopes, jax_gradients.small(slopes)
            self._stepped(loss, before)

    def _stepped(self, loss: Any, given: list[Any]) -> None:
        """`given`: small weights that the step began with, or what they were changed by."""
        if self._loop.quiet:  # inside a fit, which has steps of its own
            return
        self._loop.jit_stepped()
        self._newest_loss = weak(loss)
        if loss is not None and len(self._waiting) < _MAX_WAITING:
            self._waiting.append(_Unread(self._context.heartbeat.step, loss, given))
        self.read_losses()

    def read_losses(self) -> None:
        """Those of late that are computed, as long as reading them takes little time."""
        while self._waiting and _is_ready(self._waiting[0].loss):
            begun = time.perf_counter_ns()
            one = self._waiting.popleft()
            if begun < self._not_before_ns:
                self._newest.append(one)
                continue
            value = float(one.loss)
            self._read += 1
            if math.isfinite(value) and not self._broken:
                self._check_weights(one, value)
            if self._read > _ALWAYS_FIRST:
                self._not_before_ns = begun + int((time.perf_counter_ns() - begun) / _SHARE)
            if math.isfinite(value):
                self._last_read = max(self._last_read, one.step)
            elif not self._broken:
                self._broken = True
                self._breaks(one)
                continue
            self._loop.late_loss(one.step, value)

    def _check_weights(self, one: _Unread, loss: float) -> None:
        """A loss may well be a number though the weights are none: `where` chooses between two values. One small array
        of weights shows it; a gradient that is not finite breaks all of them."""
        if one.given and _all_finite(one.given[:1]) is False:
            self._broken = True
            self._loop.late_broken_weights(one.step, loss)

    def _breaks(self, found: _Unread) -> None:
        """The first loss that is not finite, among those that there was no time to read. Weights that were not finite
        before it, after a loss that was, were broken by a gradient."""
        for one in [*self._newest, found]:
            value = float(one.loss)
            if math.isfinite(value):
                self._last_read = max(self._last_read, one.step)
                continue
            known = self._last_read >= one.step - 1
            self._loop.late_loss(one.step, value, _all_finite(one.given) if known else None)
            break

    def read_all(self) -> None:
        """When the process ends: how the last steps went, whatever reading them costs."""
        self._not_before_ns, self._read = 0, 0
        self._waiting = deque([*self._newest, *self._waiting])
        self._newest.clear()
        self.read_losses()


class _Unread(NamedTuple):
    """A step whose loss is not read yet."""

    step: int
    loss: Any
    given: list[Any]


class JitFunction:
    """What is known of one jitted function."""

    __slots__ = ("context", "differentiates", "function", "given", "seen", "slopes", "steps", "trains")

    def __init__(self, function: Any, steps: JitSteps, context: ProbeContext) -> None:
        self.function = function
        self.steps = steps
        self.context = context
        self.trains = False
        self.differentiates: tuple[tuple[int, ...], ...] = ()  # shapes of a gradient that is taken in it
        self.slopes: tuple[tuple[int, ...], ...] = ()  # the same, kept
        self.seen = jitted_step.JittedStep(context)
        self.given: Any = None  # the arguments of the call that it is in

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
        observed.slopes = self.slopes
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
        observed.context.guard(PART, observed.steps.begins, observed, args, kwargs)
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
            if sys._getframe(1).f_globals.get("__name__") == fit_step.MODULE:
                seen = context.guard(fit_step.PART, fit_step.observed, context, function, *args[:1])
                return function if seen is None else seen
            users = jax_gradients.of_the_user(sys._getframe(1))
            jitted = type(function).__name__ == "PjitFunction"
            return ObservedJit(function, steps, context) if users and jitted else function

        return wrapped

    replace(module, "jit", build)
    jax_gradients.hook(context, module, steps.gradient_taken)


def _all_finite(arrays: list[Any]) -> bool | None:
    """None where there are none, or they were given away."""
    import numpy as np

    kept = [one for one in arrays if not getattr(one, "is_deleted", bool)()]
    return all(bool(np.isfinite(np.asarray(one, dtype="float32")).all()) for one in kept) if kept else None


def _is_ready(value: Any) -> bool:
    ready = getattr(value, "is_ready", None)
    return bool(ready()) if callable(ready) else False


JAX_HOOKS = (Hook(PART, "jax", hook),)
