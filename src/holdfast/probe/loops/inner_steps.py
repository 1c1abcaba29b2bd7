"""Steps inside one call: a tf.function that trains in a loop of its own, often a hundred steps a call.

Nothing of Python runs between such steps. The optimizer counts them in `iterations`, which is read when the call has
ended, and once a second while it runs, so that a long call is seen to move.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from typing import Any

from ...journal.beats import Phase
from ..runtime.context import ProbeContext
from ..state import finiteness

PART = "inner_steps"
_MEASURED_CALLS = 3  # on a device: calls whose steps are read although that waits for them


class InnerSteps:
    """Which functions have such a loop, and how many of the steps that the optimizer has counted are known."""

    def __init__(self, context: ProbeContext) -> None:
        self._context = context
        self._lock = threading.Lock()
        self.new_run()

    def new_run(self) -> None:
        self._functions: set[int] = set()
        self._read: Callable[[], int] | None = None
        self._in_host_memory = True
        self._known = 0  # the optimizer's count up to which steps have been counted
        self._call_ended = 0  # the optimizer's count after the last call
        self._calls: dict[int, int] = {}  # by function, as is:
        self._per_call: dict[int, int] = {}  # steps in its last call whose steps were read

    def traced(self, function: Any, optimizer: Any) -> None:
        """The optimizer is applied in this function, which is being traced in this thread or for it."""
        if not _in_while_loop():
            return
        self._functions.add(id(function))
        if self._read is None:
            self._start(optimizer)
        if self._context.heartbeat.phase is not Phase.STEP:
            self._context.heartbeat.set_phase(Phase.COMPILE)

    def _start(self, optimizer: Any) -> None:
        variable = finiteness.component(finiteness.raw(optimizer.iterations))
        self._in_host_memory = finiteness.in_host_memory(variable)
        self._read = lambda: int(_eagerly(finiteness.reader(variable)))
        self._known = self._call_ended = _or_zero(self._read)
        self._context.background.every_second(PART, self._poll)

    @property
    def counting(self) -> bool:
        """From the first such function on, all that train are counted this way."""
        return self._read is not None

    def loops(self, function: Any) -> bool:
        return id(function) in self._functions

    def call_begins(self) -> None:
        self._context.heartbeat.set_phase(Phase.STEP)

    def call_ends(self, function: Any) -> int:
        """How many steps of the call are not counted yet."""
        key = id(function)
        calls, before = self._calls.get(key, 0), self._call_ended
        self._calls[key] = calls + 1
        if self._in_host_memory or calls < _MEASURED_CALLS:
            new = self._count()
            self._call_ended = self._known
            self._per_call[key] = self._call_ended - before
            return new
        with self._lock:  # what is on a device is not waited for: as many as in the calls before
            self._call_ended = before + self._per_call[key]
            new = max(0, self._call_ended - self._known)
            self._known += new
        return new

    def _poll(self, now: float) -> None:
        new = self._count()
        if new:
            heartbeat = self._context.heartbeat
            heartbeat.step += new
            heartbeat.train_batches += new
            heartbeat.set_phase(Phase.STEP)

    def _count(self) -> int:
        """Steps that the optimizer has counted and nobody else has yet."""
        value = self._read() if self._read is not None else 0
        with self._lock:
            new = max(0, value - self._known)
            self._known += new
        return new


def _in_while_loop() -> bool:
    """Whether what is being traced runs in a loop of the graph's own."""
    framework = sys.modules.get("tensorflow.python.framework.ops")
    graph = framework.get_default_graph() if framework is not None else None
    while graph is not None:
        if type(graph).__name__ == "WhileBodyFuncGraph":
            return True
        graph = getattr(graph, "outer_graph", None)
    return False


def _eagerly(read: Callable[[], Any]) -> Any:
    """Also from a thread that is tracing."""
    eager = sys.modules["tensorflow.python.eager.context"]
    with eager.eager_mode():
        return read()


def _or_zero(read: Callable[[], int]) -> int:
    """A variable that is made in the call itself has no value yet."""
    try:
        return read()
    except Exception:
        return 0
