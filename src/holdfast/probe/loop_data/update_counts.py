"""How often a loop of the user's own computes gradients, and how often that changes the weights.

Gradients of several passes may be added up before an optimizer is asked for one update, by the loop or by the
optimizer itself. What the loss was in the first and in the newest passes is kept, which of few updates no step shows.
"""

from __future__ import annotations

from collections import deque
from typing import Any

from ...journal.events import UpdatesCounted
from ..runtime import user_lines
from ..runtime.context import ProbeContext
from ..runtime.hook import Hook
from ..runtime.wrapping import observe
from ..state import model_facts

PART = "update_counts"
_FEWEST_PASSES, _FEWEST_EACH = 30, 2  # gradients in all, and for each update
_FIRST, _NEWEST = 5, 20  # losses that are kept


class UpdateCounts:
    def __init__(self, context: ProbeContext) -> None:
        self._context = context
        self.new_run()

    def new_run(self) -> None:
        self._passes = self._updates = 0
        self._each = 1  # gradients that the optimizer adds up by itself
        self._where = ""
        self._data_passes = 0
        self._iterator: Any = None
        self._first: list[Any] = []
        self._newest: deque[Any] = deque(maxlen=_NEWEST)

    def taken(self, loss: Any) -> None:
        """A gradient of this loss is computed."""
        self._passes += 1
        iterator = self._context.loop.iterator
        if iterator is not self._iterator:
            self._iterator, self._data_passes = iterator, self._data_passes + 1
        kept = loss.detach() if hasattr(loss, "detach") else loss
        if len(self._first) < _FIRST:
            self._first.append(kept)
        else:
            self._newest.append(kept)

    def called(self, function: Any, result: Any) -> None:
        """A compiled function that may have computed one, and may return the loss."""
        if self._context.gradients.taken_by(function):
            loss = self._context.loop.function_logs(function, result).get("loss")
            if loss is not None:
                self.taken(loss)

    def updated(self, optimizer: Any) -> None:
        """An optimizer was given gradients, by code that runs now."""
        if not self._updates:
            self._where = user_lines.caller_line()
        self._updates += 1
        if "max_iter" in (getattr(optimizer, "defaults", None) or ()):  # one that asks for gradients itself
            self._first, self._passes = [], 0

    def adds_up(self, each: Any) -> None:
        """An optimizer that changes the weights once for so many gradients, or as often as a function says."""
        if isinstance(each, int) and each > 1:
            self._each, self._where = each, user_lines.caller_line()

    def at_exit(self) -> None:
        self._context.guard(PART, self._record)

    def _record(self) -> None:
        loop = self._context.loop
        passes = max(self._passes, self._context.heartbeat.step, self._context.gradients.times)
        updates = self._of_keras(loop.optimizer) or (self._updates or passes) // self._each
        if passes >= _FEWEST_PASSES and passes >= _FEWEST_EACH * updates:
            self._context.record(
                UpdatesCounted(
                    passes=passes,
                    updates=updates,
                    data_passes=self._data_passes,
                    each=self._each if self._each > 1 else None,
                    first=_mean(self._first),
                    newest=_mean(list(self._newest)),
                    where=self._where,
                )
            )

    def _of_keras(self, optimizer: Any) -> int:
        """By its own count; on JAX it is kept elsewhere, and 0 here."""
        own = getattr(optimizer, "gradient_accumulation_steps", None)
        if isinstance(own, int) and own > 1:
            self._each = own
        return model_facts.iterations_of(optimizer) or 0 if optimizer is not None else 0


def _mean(losses: list[Any]) -> float | None:
    values = [float(loss) for loss in losses]
    return sum(values) / len(values) if values else None


def _hook_optax(context: ProbeContext, module: Any) -> None:
    """Later versions of optax import the class into the module that had it before."""
    counts, kind = context.update_counts, getattr(module, "MultiSteps", None)
    if getattr(kind, "__module__", "") == module.__name__:
        observe(
            context, kind, "__init__", PART,
            before=lambda args, kwargs: counts.adds_up(args[2] if len(args) > 2 else kwargs.get("every_k_schedule")),
        )  # fmt: skip


_MODULES = ("optax.transforms._accumulation", "optax.transforms._accumulating", "optax._src.wrappers")
JAX_HOOKS = tuple(Hook(PART, name, _hook_optax) for name in _MODULES)
