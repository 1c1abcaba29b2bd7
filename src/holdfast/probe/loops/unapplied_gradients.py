"""Gradients of weights that are taken again and again while no weight changes and an optimizer is not used.

Gradients alone prove nothing: saliency maps, Fisher information and attacks on images take them too. An optimizer
of the script's own that never counted a step does.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable
from typing import Any

from ...journal.events import GradientsNotApplied, GradientsOfNothing
from ..runtime import user_lines
from ..runtime.context import ProbeContext
from ..runtime.hook import Hook
from ..runtime.weak_references import weak
from ..runtime.wrapping import observe
from ..state import model_facts
from . import hand_updates

PART = "unapplied_gradients"
_FEWEST_WEIGHTS = 2  # one alone may be an image or a point that is searched
_FEWEST_TIMES = 30
_SMALL = 4096  # numbers in a weight that is compared
_COMPARED = 4
_MOST_OPTIMIZERS = 50


class UnappliedGradients:
    def __init__(self, context: ProbeContext) -> None:
        self._context = context
        self._fits = context.fits
        self._traces = context.traces
        self._optimizers: list[tuple[Callable[[], Any], str]] = []  # and the line that made each
        self._where = ""  # where gradients of weights were first taken
        self._times = 0
        self._function: Any = None  # the Python function whose compiled form takes them
        self._weights: list[tuple[Callable[[], Any], str]] = []  # and what they were then
        self._empty = 0  # gradients with respect to nothing
        self._of_something = False
        self.unread = False  # variables that the first trace makes have no value in it

    def new_run(self) -> None:
        self._where, self._times, self._function, self._weights = "", 0, None, []
        self.unread = False
        self._empty, self._of_something = 0, False

    @property
    def times(self) -> int:
        """That gradients of weights were taken, also inside a compiled function."""
        return max(self._times, self._traces.calls_of(self._function) if self._function is not None else 0)

    def taken_by(self, function: Any) -> bool:
        """Whether gradients of weights were first taken in this tf.function."""
        return self._function is not None and getattr(function, "_python_function", None) is self._function

    def optimizer_made(self, optimizer: Any) -> None:
        where = user_lines.caller_line()
        if where and len(self._optimizers) < _MOST_OPTIMIZERS:
            self._optimizers.append((weak(optimizer), where))

    def taken(self, sources: Any) -> None:
        empty = sources is not None and not len(sources)
        self._of_something = self._of_something or not empty
        if empty and self._fits.current is None:
            self._asked_for_nothing()
        elif self._where:
            self._times += 1
        elif self._optimizers and self._fits.current is None:
            weights = [one for one in sources or () if hasattr(one, "assign") and one.trainable]
            if len(weights) >= _FEWEST_WEIGHTS:
                self._begin(weights)
        elif not self._optimizers and not self._context.hand_updates.over:
            weights = [one for one in sources or () if hasattr(one, "assign")]
            self._context.guard(hand_updates.PART, self._context.hand_updates.taken, lambda: weights)

    def _asked_for_nothing(self) -> None:
        self._empty += 1
        if self._empty == 1:
            function, where = self._traced()
            self._context.at_exit.append(lambda: self._report_nothing(function, where))

    def _report_nothing(self, function: Any, where: str) -> None:
        """A traced function asks once, and what it computes is done at every call."""
        times = max(self._empty, self._traces.calls_of(function))
        if not self._of_something and times >= _FEWEST_TIMES:
            self._context.record(GradientsOfNothing(where=where, times=times))

    def _traced(self) -> tuple[Any, str]:
        """The Python function that is being traced, if any, and where gradients are taken."""
        function = getattr(self._traces.stack[0][0], "_python_function", None) if self._traces.stack else None
        # AutoGraph has rewritten a traced function: its lines are nobody's.
        traced = user_lines.of_function(function) if function is not None else ""
        return function, traced or user_lines.caller_line()

    def _begin(self, weights: list[Any]) -> None:
        self._function, self._where = self._traced()
        self._times = 1
        small = [one for one in weights if model_facts.size(one) <= _SMALL][-_COMPARED:]
        self._weights = [(weak(one), _digest(one)) for one in small]
        self.unread = any(not digest for _, digest in self._weights)
        self._context.at_exit.append(self.report_at_exit)

    def read_weights(self) -> None:
        """After the call in which they were made."""
        self.unread = False
        kept = [(weight, digest or _digest(weight())) for weight, digest in self._weights]
        self._weights = [(weight, digest) for weight, digest in kept if digest]

    def report_at_exit(self) -> None:
        """When the process ends. An optimizer that is gone may have been the one at work."""
        made = [(optimizer(), where) for optimizer, where in self._optimizers]
        if any(one is None or _iterations(one) != 0 for one, _ in made):
            return
        kept = [(weight(), before) for weight, before in self._weights]
        if not kept or any(one is None or not before or _digest(one) != before for one, before in kept):
            return
        times = self.times
        if times >= _FEWEST_TIMES:
            optimizer, where = made[-1]
            self._context.record(
                GradientsNotApplied(
                    where=self._where,
                    times=times,
                    optimizer=type(optimizer).__name__,
                    optimizer_where=where,
                )
            )


def _digest(weight: Any) -> str:
    """Of its numbers, read outside of any function that is being traced; "" where that cannot be."""
    try:
        with sys.modules["tensorflow"].init_scope():
            data = weight.numpy().tobytes()  # a variable without a value yet is an empty array
            return hashlib.sha256(data).hexdigest() if data else ""
    except Exception:
        return ""


def _iterations(optimizer: Any) -> int | None:
    return model_facts.iterations_of(optimizer)


def hook_gradients(context: ProbeContext, module: Any) -> None:
    """`tensorflow.python.eager.imperative_grad`, which a GradientTape calls."""
    gradients = context.gradients
    observe(
        context, module, "imperative_grad", PART,
        before=lambda args, kwargs: gradients.taken(kwargs.get("sources_raw")),
    )  # fmt: skip


def hook_optimizer(context: ProbeContext, module: Any) -> None:
    """`BaseOptimizer` of Keras 3, `_BaseOptimizer` and `OptimizerV2` of Keras 2."""
    gradients = context.gradients
    names = ("BaseOptimizer", "_BaseOptimizer", "OptimizerV2")
    for kind in [getattr(module, name) for name in names if hasattr(module, name)]:
        observe(
            context, kind, "__init__", PART, before=lambda args, kwargs: gradients.optimizer_made(args[0])
        )  # fmt: skip


KERAS_HOOKS = (Hook(PART, "keras.src.optimizers.base_optimizer", hook_optimizer),)
KERAS2_HOOKS = (
    Hook(PART, "optimizers.optimizer", hook_optimizer),
    Hook(PART, "optimizers.optimizer_experimental.optimizer", hook_optimizer),
    Hook(PART, "optimizers.legacy.optimizer_v2", hook_optimizer),
    Hook(PART, "optimizers.optimizer_v2.optimizer_v2", hook_optimizer),
    Hook(PART, "optimizer_v2.optimizer_v2", hook_optimizer),
)
TENSORFLOW_HOOKS = (Hook(PART, "tensorflow.python.eager.imperative_grad", hook_gradients),)
