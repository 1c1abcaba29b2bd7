"""How often functions are traced by TensorFlow or compiled by JAX, and why again."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field
from typing import Any

from ...journal.beats import Phase
from ...journal.events import TracesCounted
from ..runtime import user_lines
from ..runtime.context import ProbeContext
from ..runtime.hook import Hook
from ..runtime.nested_values import leaves
from ..runtime.wrapping import observe
from . import replica_threads, xla_compilations

PART = "function_traces"
_SIGNATURES = 6
_EXPECTED_IN_FIT = 3  # for the first batch, the last one, and one whose placement differs
_LONG_COMPILE_S = 0.05  # the many below it are single operations
_AGAIN_S = 10.0  # long compilations are written more often than at each doubling,
_AGAIN_TRACES = 64  # up to here


@dataclass
class TracedFunction:
    """One function of the source, however many objects were made of it."""

    name: str
    where: str
    traces: int = 0
    calls: int = 0
    objects: set[int] = field(default_factory=set)
    signatures: list[str] = field(default_factory=list)
    expected: int = 0  # compilations that any run has
    in_fit: tuple[int, int] = (0, 0)  # the number of a fit, and compilations in it
    last_step: int = -1  # of the last compilation: a step compiles one operation for each of its layers
    last_call: int = -1  # tracing twice in one call, as when variables are made, is one trace
    seconds: float = 0.0  # of the compilations that are not expected
    recorded: int = 0  # how many traces the newest event has
    recorded_at: float = 0.0


class TraceCounter:
    def __init__(self, context: ProbeContext) -> None:
        self._context = context
        self._by_place: dict[str, TracedFunction] = {}
        # By thread; the number of a thread that has ended is given again.
        self._stacks: dict[int, list[tuple[Any, int]]] = {}
        self._counts_xla = False
        self._flushes = False

    def new_run(self) -> None:
        self._by_place.clear()
        self._counts_xla = self._flushes = False

    # -- calls of tf.function objects -----------------------------------------------------------------

    @property
    def stack(self) -> list[tuple[Any, int]]:
        """The calls that this thread is in, innermost last."""
        thread = threading.get_ident()
        stack = self._stacks.get(thread)
        if stack is None:
            stack = self._stacks[thread] = []
        return stack

    def traced_calls(self) -> list[tuple[Any, int]]:
        """The calls for which something is being traced in this thread.

        A strategy of tf.distribute traces what each replica does in a thread of its own, while the thread that
        called the function waits for it.
        """
        own = self.stack
        if not replica_threads.is_replica():
            return own
        waiting = self._stacks.get(self._context.heartbeat.thread)
        if not waiting:
            others = [stack for stack in list(self._stacks.values()) if stack and stack is not own]
            waiting = others[0] if len(others) == 1 else []
        return [*waiting, *own]

    # -- traces ---------------------------------------------------------------------------------------

    def trace_begins(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        options = kwargs.get("tracing_options") or (args[3] if len(args) > 3 else None)
        return self._begins(
            str(getattr(options, "name", "")), args[0] if args else kwargs.get("function_type")
        )

    def old_trace_begins(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Before TensorFlow 2.13: a method of an object that has the name, given the arguments themselves."""
        given = dict(zip(("args", "kwargs"), args[1:]))
        positional, keywords = [given.get(name, kwargs.get(name)) for name in ("args", "kwargs")]
        name = str(getattr(args[0], "_name", "")) if args else ""
        return self._begins(name, signature_of(positional, keywords))

    def _begins(self, name: str, signature: Any) -> Any:
        heartbeat = self._context.heartbeat
        before = None
        if heartbeat.is_training_thread and heartbeat.phase in (Phase.STEP, Phase.FILL, Phase.COMPILE):
            before = heartbeat.phase
            heartbeat.set_phase(Phase.COMPILE)
        return name, signature, before

    def trace_ends(self, token: Any, _: Any) -> None:
        name, signature, before = token
        heartbeat = self._context.heartbeat
        if before is not None:
            fit = self._context.fits.current
            waiting = fit is not None and fit.first_step_s is None
            heartbeat.set_phase(Phase.FILL if waiting else before)
        owner, call = self.stack[-1] if self.stack else (None, -1)
        if owner is None or str(getattr(owner, "_name", "")) != name:
            return  # a function of the framework's own, such as one inside tf.data
        self._count(name, owner, call, str(signature))

    def _count(self, name: str, owner: Any, call: int, signature: str) -> None:
        function = getattr(owner, "_python_function", None)
        where = user_lines.of_function(function) if function is not None else ""
        traced = self._by_place.setdefault(where or name, TracedFunction(name, where))
        self._count_xla(owner, where)
        traced.objects.add(id(owner))
        if traced.last_call == call:
            return
        traced.last_call = call
        traced.traces += 1
        traced.signatures.append(signature[:300])
        del traced.signatures[:-_SIGNATURES]
        self._record(traced)

    def _count_xla(self, owner: Any, where: str) -> None:
        """From the first function on that XLA compiles, its machine code is counted."""
        if not self._counts_xla and getattr(owner, "_jit_compile", None):
            self._counts_xla = True
            name = str(getattr(owner, "_name", "") or "a function")
            counter = xla_compilations.XlaCompilations(self._context, name, where)
            self._context.background.every_second(xla_compilations.PART, counter.poll)

    def compiled(self, name: str, duration_s: float) -> None:
        """JAX has compiled a function."""
        traced = self._by_place.setdefault("jax " + name, TracedFunction(name, user_lines.caller_line()))
        traced.traces += 1
        expected = self._is_expected(traced)
        traced.expected += expected
        traced.seconds += 0.0 if expected else duration_s
        traced.signatures.append(f"compiled in {duration_s} s")
        del traced.signatures[:-_SIGNATURES]
        self._record(traced)

    def _is_expected(self, traced: TracedFunction) -> bool:
        """Each layer that is built compiles some operations; a fit compiles its functions, the last batch once more."""
        context = self._context
        fit, step = context.fits.current, context.heartbeat.step
        same_step, traced.last_step = step == traced.last_step, step
        if same_step:
            return True
        if fit is None:
            on_batch = context.fits.calls_open > 0 and context.heartbeat.phase is Phase.STEP
            return not (step and (context.loop.in_jitted_call or on_batch))
        if fit.first_step_s is None:  # the optimizer makes its variables, then the step is compiled
            return True
        number = context.heartbeat.fit
        traced.in_fit = (number, traced.in_fit[1] + 1 if traced.in_fit[0] == number else 1)
        return traced.in_fit[1] <= _EXPECTED_IN_FIT

    def called(self, function: Any) -> None:
        traced = self._of(getattr(function, "_python_function", None))
        if traced is not None:
            traced.calls += 1

    def calls_of(self, python_function: Any) -> int:
        """How often the compiled forms of this function were called by a loop of the user's own."""
        traced = self._of(python_function)
        return traced.calls if traced is not None else 0

    def _of(self, python_function: Any) -> TracedFunction | None:
        return (
            self._by_place.get(user_lines.of_function(python_function))
            if python_function is not None
            else None
        )

    def _record(self, traced: TracedFunction) -> None:
        count, now = traced.traces, time.monotonic()
        if not self._flushes:
            self._flushes = True
            self._context.at_exit.append(self.write_newest)
        often = count < _AGAIN_TRACES and now - traced.recorded_at >= _AGAIN_S
        if count <= 4 or not count & (count - 1) or often:  # the first four, then at each doubling
            self._write(traced, now)

    def write_newest(self) -> None:
        """When the process ends: counts since the last doubling."""
        for traced in list(self._by_place.values()):
            if traced.traces > traced.recorded:
                self._write(traced, time.monotonic())

    def _write(self, traced: TracedFunction, now: float) -> None:
        traced.recorded, traced.recorded_at = traced.traces, now
        self._context.record(
            TracesCounted(
                function=traced.name,
                where=traced.where,
                traces=traced.traces,
                calls=traced.calls,
                reason=reason(traced),
                signatures=list(traced.signatures),
                expected=traced.expected,
                seconds=round(traced.seconds, 3),
            )
        )


def reason(traced: TracedFunction) -> str:
    if traced.traces < 2:
        return ""
    if len(traced.objects) > 1 and len(traced.objects) >= traced.traces:
        return "new-object"
    last = traced.signatures[-2:]
    if len(last) < 2 or last[1].startswith("compiled"):
        return ""
    if "Literal" in last[1] and [p for p in last[0].split(",") if "Literal" in p] != [
        p for p in last[1].split(",") if "Literal" in p
    ]:
        return "python-value"
    return "new-shape" if last[0] != last[1] else "new-object"


def hook_tracing(context: ProbeContext, module: Any) -> None:
    """`tensorflow.python.eager.polymorphic_function.tracing_compilation`"""
    traces = context.traces
    observe(
        context, module, "_create_concrete_function", PART,
        before=traces.trace_begins, after=traces.trace_ends,
    )  # fmt: skip


def hook_old_tracing(context: ProbeContext, module: Any) -> None:
    """`tensorflow.python.eager.function` (before 2.11), `…polymorphic_function.tracing_compiler` (2.11 and 2.12)"""
    traces = context.traces
    for kind in [getattr(module, name, None) for name in ("Function", "TracingCompiler")]:
        for method in ("_create_graph_function", "_create_concrete_function") if kind is not None else ():
            observe(
                context, kind, method, PART, before=traces.old_trace_begins, after=traces.trace_ends
            )  # fmt: skip


def signature_of(args: Any, kwargs: Any) -> str:
    """As newer versions write it: tensors by shape and type, Python values as they are."""
    given = [*(args or ()), *(kwargs or {}).values()]
    return ", ".join(_described(leaf) for leaf in leaves(given))


def _described(value: Any) -> str:
    if hasattr(value, "shape") and hasattr(value, "dtype"):
        return f"TensorSpec(shape={value.shape}, dtype={getattr(value.dtype, 'name', value.dtype)})"
    plain = isinstance(value, (bool, int, float, str, type(None)))
    return f"Literal[{value!r}]" if plain else type(value).__name__


def hook_jax(context: ProbeContext, module: Any) -> None:
    """JAX reports each compilation to its listeners."""
    from jax import monitoring

    def compiled(event: str, duration_secs: float, **more: Any) -> None:
        if event.endswith("backend_compile_duration") and duration_secs >= _LONG_COMPILE_S:
            name = str(more.get("fun_name", ""))
            context.guard(PART, context.traces.compiled, name, round(duration_secs, 3))

    monitoring.register_event_duration_secs_listener(compiled)


TENSORFLOW_HOOKS = (
    Hook(PART, "tensorflow.python.eager.polymorphic_function.tracing_compilation", hook_tracing),
    Hook(PART, "tensorflow.python.eager.polymorphic_function.tracing_compiler", hook_old_tracing),
    Hook(PART, "tensorflow.python.eager.function", hook_old_tracing),
)
JAX_HOOKS = (Hook(PART, "jax", hook_jax),)
