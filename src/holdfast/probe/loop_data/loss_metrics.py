"""The loss of a loop that only a metric of Keras is given: `train_loss.update_state(loss)`, in a tf.function perhaps.

Which metric it is shows when the very tensor is differentiated that it is given. Its sum and its count are read now and
then; what was added since is the mean loss of the steps between. Nothing is computed for it.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from typing import Any

from ..runtime.context import ProbeContext
from ..runtime.hook import Hook
from ..runtime.weak_references import weak
from ..runtime.wrapping import observe
from ..state import finiteness

PART = "loss_metrics"
_ALWAYS_FIRST, _EVERY_S = 20, 0.1
_KEPT = 8  # updates before the gradient is taken


class LossMetrics:
    def __init__(self, context: ProbeContext, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._now = monotonic
        self.new_run()

    def new_run(self) -> None:
        self._target: Callable[[], Any] = lambda: None
        self._metric: Callable[[], Any] | None = None
        self._updates: deque[tuple[Callable[[], Any], Callable[[], Any]]] = deque(maxlen=_KEPT)
        self._before = 0.0, 0.0  # sum and count
        self._not_before = 0.0

    def differentiated(self, target: Any) -> None:
        """The newest loss; a metric may be given it before or after."""
        if self._metric is None:
            self._target = weak(target)
            for metric, value in self._updates:
                if value() is target:
                    self._metric = metric
            self._updates.clear()

    def updated(self, metric: Any, value: Any) -> None:
        if self._metric is not None or value is None:
            return
        if value is self._target():
            self._metric = weak(metric)
        else:
            self._updates.append((weak(metric), weak(value)))

    def loss(self, step: int) -> float | None:
        """The mean of the steps since the last one that was read; None where that is not known, or not yet due."""
        metric = self._metric() if self._metric is not None else None
        now = self._now()
        if metric is None or (step > _ALWAYS_FIRST and now < self._not_before):
            return None
        self._not_before = now + _EVERY_S
        if not finiteness.in_host_memory(finiteness.raw(metric.total)):
            return None
        total, count = float(metric.total), float(metric.count)
        total_before, count_before = self._before if count >= self._before[1] else (0.0, 0.0)  # it was reset
        self._before = total, count
        return (total - total_before) / (count - count_before) if count > count_before else None


def hook_mean(context: ProbeContext, module: Any) -> None:
    def begins(args: Any, kwargs: Any) -> None:
        if not context.loop.quiet:
            context.loss_metrics.updated(args[0], args[1] if len(args) > 1 else kwargs.get("values"))

    observe(context, module.Mean, "update_state", PART, before=begins)


KERAS_HOOKS = (Hook(PART, "keras.src.metrics.reduction_metrics", hook_mean),)
