"""Steps of a loop on JAX, whatever feeds it: calls of the functions that the user gave to `jax.jit`.

Which of them trains is known when it is traced: an optimizer of Keras is asked for new weights inside it, or the
gradient of a whole set of weights is taken in it and as many arrays of the same shapes come out. A gradient that is
taken outside of any jitted function is a step by itself.
JAX computes in the background; a loss is read at a later call, and only once it is there.
"""

from __future__ import annotations

import functools
import sys
import time
import types
from collections import deque
from collections.abc import Callable
from typing import Any

from . import gradients, lines
from .session import Session

PART = "jaxsteps"
_ALWAYS_FIRST = 20  # losses that are read whatever it takes: most that break do so soon
_MOST_WAITING = 64
_SHARE = 0.003  # of the time that reading losses may take


class Steps:
    """The jitted functions of a process, and the one that is being called."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._calls: list[Jitted] = []
        self._waiting: deque[tuple[int, Any]] = deque()  # steps with their losses, not read yet
        self._not_before_ns = 0
        self._read = 0

    @property
    def _loop(self) -> Any:
        from . import loops  # which counts what is told here

        return loops.of(self._session)

    def mark(self) -> bool:
        """The outermost function that is being called trains. False when none is."""
        if self._calls:
            self._calls[0].trains = True
        return bool(self._calls)

    def begins(self, function: Jitted) -> None:
        self._calls.append(function)

    def looked(self) -> None:
        """A function was traced and not called."""
        self._calls.pop()

    def ends(self, function: Jitted, result: Any) -> None:
        self._calls.pop()
        if self._calls:
            return
        if function.differentiates and not function.trains:
            function.trains = gradients.come_out(function.differentiates, result)
            function.differentiates = ()
        if function.trains:
            self._stepped(self._loop.losses_of(function, result).get("loss"))

    def differentiated(self, slopes: list[Any], loss: Any) -> None:
        """The gradient of a set of weights was taken, by code of the user's own."""
        if self._calls:
            self._calls[0].differentiates = self._calls[0].differentiates or gradients.shapes(slopes)
        elif not gradients.traced(slopes) and not self._loop.has_optimizer:
            self._stepped(loss)

    def _stepped(self, loss: Any) -> None:
        if self._loop.quiet:  # inside a fit, which tells its own steps
            return
        self._loop.jit_stepped()
        if loss is not None and len(self._waiting) < _MOST_WAITING:
            self._waiting.append((self._session.progress.step, loss))
        self.read_losses()

    def read_losses(self) -> None:
        """Those of late that are there, as long as reading them is not dear."""
        while self._waiting and _is_there(self._waiting[0][1]):
            begun = time.perf_counter_ns()
            step, loss = self._waiting.popleft()
            if begun < self._not_before_ns:
                continue
            value = float(loss)
            self._read += 1
            if self._read > _ALWAYS_FIRST:
                self._not_before_ns = begun + int((time.perf_counter_ns() - begun) / _SHARE)
            self._loop.jit_loss(step, value)


class Jitted:
    """A function of `jax.jit` that tells of its calls, and is the function itself in everything else."""

    def __init__(self, function: Any, steps: Steps, session: Session) -> None:
        functools.update_wrapper(self, function, updated=())
        self._function = function
        self._steps = steps
        self._session = session
        self.trains = False
        self.differentiates: tuple[tuple[int, ...], ...] = ()  # shapes of a gradient that is taken in it

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if not self._session.on(PART):
            return self._function(*args, **kwargs)
        self._session.guard(PART, self._steps.begins, self)
        result = None
        try:
            result = self._function(*args, **kwargs)
            return result
        finally:
            self._session.guard(PART, self._steps.ends, self, result)

    def lower(self, *args: Any, **kwargs: Any) -> Any:
        return self._traced(self._function.lower, args, kwargs)

    def trace(self, *args: Any, **kwargs: Any) -> Any:
        return self._traced(self._function.trace, args, kwargs)

    def _traced(self, method: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The call after it need not trace again: who trains is found here."""
        self._session.guard(PART, self._steps.begins, self)
        try:
            return method(*args, **kwargs)
        finally:
            self._session.guard(PART, self._steps.looked)

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else types.MethodType(self, instance)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__dict__["_function"], name)


def hook(session: Session, module: Any) -> None:
    """`jax.jit` as the user's own code calls it; the framework's own functions stay as they are."""
    original: Callable[..., Any] = module.jit
    steps = of(session)

    @functools.wraps(original)
    def told(*args: Any, **kwargs: Any) -> Any:
        made = original(*args, **kwargs)
        users = lines.is_user_file(sys._getframe(1).f_code.co_filename)
        return Jitted(made, steps, session) if users and type(made).__name__ == "PjitFunction" else made

    module.jit = told
    gradients.hook(session, module, steps.differentiated)


def of(session: Session) -> Steps:
    found = session.seen.get(PART)
    if found is None:
        found = session.seen[PART] = Steps(session)
    return found


def _is_there(value: Any) -> bool:
    ready = getattr(value, "is_ready", None)
    return bool(ready()) if callable(ready) else False
