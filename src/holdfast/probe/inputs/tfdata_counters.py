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
from ..runtime import background_thread
from ..runtime.context import ProbeContext
from ..runtime.wrapping import observe
from ..state import fit_log

PART = "pipeline"
_FIRST_EVERY_S = 2.0
_LATER_EVERY_S = 15.0
_REPEAT_S = 30.0  # counters that stand still are said again so often
_QUICK = 30  # looks at the quick pace, then the slow one


class TfDataCounters:
    """Looks at the newest iterator of each role."""

    def __init__(self, session: ProbeContext, get_proto: Any) -> None:
        self._session = session
        self._get_proto = get_proto
        self._iterators: dict[str, Any] = {}
        self._looks = 0
        self._next_at = 0.0
        self._last: dict[str, tuple[tuple[int, int], float]] = {}
        self._window: tuple[int, int, int] = (0, 0, 0)  # step, compute_ns, at perf ns

    def iterator_made(self, iterator: Any) -> None:
        phase = self._session.progress.phase
        if not self._session.progress.here and fit_log.of(self._session).current is not None:
            return
        role = "validation" if phase is Phase.VALIDATION else "predict" if phase is Phase.PREDICT else "train"
        self._iterators[role] = weakref.ref(iterator)

    def look(self, now: float) -> None:
        """In the background thread, once a second."""
        if now < self._next_at:
            return
        self._next_at = now + (_FIRST_EVERY_S if self._looks < _QUICK else _LATER_EVERY_S)
        for role, reference in list(self._iterators.items()):
            iterator = reference()
            if iterator is None:
                del self._iterators[role]
            elif (role == "validation") == (self._session.progress.phase is Phase.VALIDATION):
                self._look_at(role, iterator)

    def _look_at(self, role: str, iterator: Any) -> None:
        try:
            proto = self._get_proto(iterator)
        except Exception:  # this iterator has no model: its dataset turned it off, or it lives on a device
            self._iterators.pop(role, None)
            return
        self._looks += 1
        gap = _mean_gap_s(proto)
        share, step_s = self._waiting(gap) if role == "train" else (None, None)
        key = (sum(node.num_elements for node in proto.nodes.values()), self._session.progress.step)
        last = self._last.get(role)
        now = time.monotonic()
        if key == (0, 0) or (last is not None and last[0] == key and now - last[1] < _REPEAT_S):
            return
        self._last[role] = key, now
        self._session.say(
            PipelineSeen(
                role=role,
                step=self._session.progress.step,
                nodes=[_node(node) for _, node in sorted(proto.nodes.items())],
                between_fetches_s=gap,
                step_s=step_s,
                waiting_share=share,
            )
        )

    def _waiting(self, gap: float | None) -> tuple[float | None, float | None]:
        """The share of waiting since the last look; in fit it is moved from computing to waiting in the beats."""
        progress = self._session.progress
        step, compute, at = progress.step, progress.compute_ns, time.perf_counter_ns()
        before_step, before_compute, before_at = self._window
        self._window = (step, compute, at)
        steps = step - before_step
        if gap is None or steps < 3 or not before_at:
            return None, None
        fit = fit_log.of(self._session).current
        if fit is None or fit.data_wait == "exact":
            return None, None
        step_s = (compute - before_compute) / 1e9 / steps
        if step_s <= 0:
            return None, None
        share = min(1.0, max(0.0, 1.0 - gap / step_s))
        moved = int(share * (compute - before_compute))
        progress.compute_ns -= moved
        progress.data_wait_ns += moved
        self._window = (step, progress.compute_ns, at)
        fit.data_wait = "sampled"
        return round(share, 4), round(step_s, 6)


def hook_iterators(session: ProbeContext, module: Any) -> None:
    """`OwnedIterator`, which every eager use of a dataset makes. Those made while tracing have no resource yet."""
    pipeline = TfDataCounters(session, _late_get_proto)
    session.seen["pipeline"] = pipeline
    observe(
        session, module.OwnedIterator, "__init__", PART,
        before=lambda args, kwargs: args[0],
        after=lambda iterator, _: _made(session, pipeline, iterator),
    )  # fmt: skip


def _made(session: ProbeContext, pipeline: TfDataCounters, iterator: Any) -> None:
    if type(getattr(iterator, "_iterator_resource", None)).__name__ == "EagerTensor":
        pipeline.iterator_made(iterator)
        background_thread.of(session).every_second(PART, pipeline.look)


def _late_get_proto(iterator: Any) -> Any:
    from tensorflow.python.data.experimental.ops.iterator_model_ops import get_model_proto

    return get_model_proto(iterator)


def _node(node: Any) -> dict[str, Any]:
    found = {
        "name": node.name,
        "elements": node.num_elements,
        "buffered_elements": node.buffered_elements,
        "buffered_bytes": node.buffered_bytes,
        "produced_bytes": node.bytes_produced,
        "processing_s": round(node.processing_time / 1e9, 4),
    }
    for parameter in node.parameters:
        if parameter.name in ("parallelism", "buffer_size"):
            found[parameter.name] = parameter.value
    return {name: value for name, value in found.items() if value}


def _mean_gap_s(proto: Any) -> float | None:
    gaps = list(proto.gap_times)
    return sum(gaps) / len(gaps) / 1e6 if gaps else None
