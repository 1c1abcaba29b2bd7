"""tf.data's own counters of a running iterator: how full each buffer is, what each node has handed on,
and how long the consumer was busy between two batches. Reading them takes a fraction of a millisecond,
draws nothing and waits for nothing, also while the iterator itself is stuck.
"""

from __future__ import annotations

import time
import weakref
from typing import Any

from ...journal.beats import Phase
from ...journal.events import PipelineSeen
from ..runtime.context import ProbeContext
from ..runtime.hook import Hook
from ..runtime.wrapping import observe

PART = "tfdata_counters"
_FIRST_EVERY_S = 2.0
_LATER_EVERY_S = 15.0
_REPEAT_S = 30.0  # counters that do not change are recorded again so often
_QUICK = 30  # reads at the quick pace, then the slow one


class TfDataCounters:
    """Reads those of the newest iterator of each role."""

    def __init__(self, context: ProbeContext, get_proto: Any) -> None:
        self._context = context
        self._get_proto = get_proto
        self._iterators: dict[str, Any] = {}
        self._reads = 0
        self._next_at = 0.0
        self._last: dict[str, tuple[tuple[int, int], float]] = {}
        self._window: tuple[int, int, int] = (0, 0, 0)  # step, compute_ns, at perf ns

    def iterator_made(self, iterator: Any) -> None:
        phase = self._context.heartbeat.phase
        if not self._context.heartbeat.is_training_thread and self._context.fits.current is not None:
            return
        role = "validation" if phase is Phase.VALIDATION else "predict" if phase is Phase.PREDICT else "train"
        self._iterators[role] = weakref.ref(iterator)

    def poll(self, now: float) -> None:
        """In the background thread, once a second."""
        if now < self._next_at:
            return
        self._next_at = now + (_FIRST_EVERY_S if self._reads < _QUICK else _LATER_EVERY_S)
        for role, reference in list(self._iterators.items()):
            iterator = reference()
            if iterator is None:
                del self._iterators[role]
            elif (role == "validation") == (self._context.heartbeat.phase is Phase.VALIDATION):
                self._read(role, iterator)

    def _read(self, role: str, iterator: Any) -> None:
        try:
            proto = self._get_proto(iterator)
        except Exception:  # this iterator has no model: its dataset turned it off, or it lives on a device
            self._iterators.pop(role, None)
            return
        self._reads += 1
        gap = _mean_gap_s(proto)
        share, step_s = self._waiting(gap) if role == "train" else (None, None)
        key = (sum(node.num_elements for node in proto.nodes.values()), self._context.heartbeat.step)
        last = self._last.get(role)
        now = time.monotonic()
        if key == (0, 0) or (last is not None and last[0] == key and now - last[1] < _REPEAT_S):
            return
        self._last[role] = key, now
        self._context.record(
            PipelineSeen(
                role=role,
                step=self._context.heartbeat.step,
                nodes=[_node(node) for _, node in sorted(proto.nodes.items())],
                between_fetches_s=gap,
                step_s=step_s,
                waiting_share=share,
            )
        )

    def _waiting(self, gap: float | None) -> tuple[float | None, float | None]:
        """The share of waiting since the last read; in fit it is moved from computing to waiting in the beats."""
        heartbeat = self._context.heartbeat
        step, compute, at = heartbeat.step, heartbeat.compute_ns, time.perf_counter_ns()
        before_step, before_compute, before_at = self._window
        self._window = (step, compute, at)
        steps = step - before_step
        if gap is None or steps < 3 or not before_at:
            return None, None
        fit = self._context.fits.current
        if fit is None or fit.data_wait == "exact":
            return None, None
        step_s = (compute - before_compute) / 1e9 / steps
        if step_s <= 0:
            return None, None
        share = min(1.0, max(0.0, 1.0 - gap / step_s))
        moved = int(share * (compute - before_compute))
        heartbeat.compute_ns -= moved
        heartbeat.data_wait_ns += moved
        self._window = (step, heartbeat.compute_ns, at)
        fit.data_wait = "sampled"
        return round(share, 4), round(step_s, 6)


def hook_iterators(context: ProbeContext, module: Any) -> None:
    """`OwnedIterator`, which every eager use of a dataset makes. Those made while tracing have no resource yet."""
    counters = TfDataCounters(context, _late_get_proto)
    context.data.counted = True
    observe(
        context, module.OwnedIterator, "__init__", PART,
        before=lambda args, kwargs: args[0],
        after=lambda iterator, _: _made(context, counters, iterator),
    )  # fmt: skip


def _made(context: ProbeContext, counters: TfDataCounters, iterator: Any) -> None:
    if type(getattr(iterator, "_iterator_resource", None)).__name__ == "EagerTensor":
        counters.iterator_made(iterator)
        context.background.every_second(PART, counters.poll)


def _late_get_proto(iterator: Any) -> Any:
    from tensorflow.python.data.experimental.ops.iterator_model_ops import get_model_proto

    return get_model_proto(iterator)


def _node(node: Any) -> dict[str, Any]:
    facts = {
        "name": node.name,
        "elements": node.num_elements,
        "buffered_elements": node.buffered_elements,
        "buffered_bytes": node.buffered_bytes,
        "produced_bytes": node.bytes_produced,
        "processing_s": round(node.processing_time / 1e9, 4),
    }
    for parameter in node.parameters:
        if parameter.name in ("parallelism", "buffer_size"):
            facts[parameter.name] = parameter.value
    return {name: value for name, value in facts.items() if value}


def _mean_gap_s(proto: Any) -> float | None:
    gaps = list(proto.gap_times)
    return sum(gaps) / len(gaps) / 1e6 if gaps else None


TENSORFLOW_HOOKS = (Hook(PART, "tensorflow.python.data.ops.iterator_ops", hook_iterators),)
