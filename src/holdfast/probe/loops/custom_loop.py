"""Training without `fit`: tf.function steps, GradientTape with an optimizer, train_on_batch, dataset iterators."""

from __future__ import annotations

import functools
import itertools
import re
import threading
import time
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from ...journal.beats import Phase
from ...journal.events import DataOnlyLoopSeen, LoopSeen
from ..fit import loss_watch
from ..inputs import bad_files, batch_statistics, current_batch, datasets
from ..memory_use import retained_objects
from ..process import exceptions, framework_versions
from ..runtime import user_lines
from ..runtime.context import ProbeContext
from ..runtime.heartbeat import Stopwatch
from ..runtime.wrapping import observe
from ..state import finiteness, fit_log, for_loops, model_facts, open_loops
from . import function_traces, jax_jit, step_outputs
from .data_passes import DataPasses

PART = "loops"
_OTHER_NUMBER = re.compile(r"acc|metric|score|rate|norm|count|step", re.IGNORECASE)


class CustomLoop:
    """The steps of a loop of the user's own, told from what it calls. Silent while a fit is under way."""

    def __init__(self, session: ProbeContext) -> None:
        self.session = session
        self.progress = session.progress
        self.fits = fit_log.of(session)
        self._passes = DataPasses(session)
        self.traces = function_traces.of(session)
        self._training: set[int] = set()  # tf.function objects that apply gradients
        self._optimizer: Callable[[], Any] = lambda: None  # the first one seen: its steps are the loop's
        self._applied = 0
        self._inside = 0  # depth of calls that count as a step by themselves
        self._said: set[str] = set()
        self._iterator: Callable[[], Any] | None = None  # drawn from last; its number may be given again
        self._iterator_trained = False
        self._step_began_ns = 0
        self._loss: Any = None
        self._current: int | None = None  # the dataset drawn from last
        self._stepped_on: int | None = None  # the dataset of the last step
        self._trained_on: int | None = None  # the dataset of a step that JAX compiled
        self._batch_pending = False  # a batch of it was drawn, and its step is not counted yet
        self._dataset: Any = None  # drawn from, and not yet known what for
        self._names: dict[int, list[str]] = {}

    @property
    def quiet(self) -> bool:
        return self.fits.current is not None or self._inside > 0

    def call_begins(self) -> None:
        """evaluate or predict: what they draw and call is no loop of the user's."""
        self._inside += 1

    def call_ends(self) -> None:
        self._inside = max(0, self._inside - 1)

    @property
    def has_optimizer(self) -> bool:
        return self._optimizer() is not None

    # -- waiting for data -----------------------------------------------------------------------------

    def next_begins(self, iterator: Any) -> Stopwatch | None:
        progress = self.progress
        if self.quiet or not self._is_ours():
            return None
        self._count_pending()
        now = time.perf_counter_ns()
        if self._step_began_ns and progress.step > 1 and progress.phase in (Phase.STEP, Phase.VALIDATION):
            progress.compute_ns += now - self._step_began_ns
        fresh = self._iterator is None or self._iterator() is not iterator
        if fresh:
            self.session.keep_ring()
            self._passes.begins()
            self._iterator = current_batch.weak(iterator)
            if self._iterator_trained:
                progress.epoch += 1
                self.look_over()
            self._iterator_trained = False
            progress.train_batches = progress.test_batches = 0
            self._dataset = iterator
            self._current = id(getattr(iterator, "_dataset", None))
            if (
                not progress.step
            ):  # nothing has been trained yet: if it blocks here, this is what it blocks on
                self._dataset_is("train")
                self.session.guard(PART, self._say_never_left)
        progress.enter(Phase.FILL if fresh else Phase.DATA_WAIT)
        return Stopwatch()

    def next_ends(self, clock: Stopwatch | None, element: Any) -> None:
        if clock is None:
            return
        progress = self.progress
        self._passes.drew()
        if not progress.step or self._current == self._stepped_on:
            self.session.guard(
                batch_statistics.PART, batch_statistics.drawn, self.session, element, progress.step + 1
            )
            self.session.guard(current_batch.PART, current_batch.of(self.session).drawn, element)
        if progress.phase is not Phase.FILL:
            progress.data_wait_ns += clock.ns
        self._step_began_ns = time.perf_counter_ns()
        self._batch_pending = self._trained_on is not None and self._trained_on == self._current
        progress.enter(Phase.STEP)

    def _count_pending(self) -> None:
        if self._batch_pending:
            self._batch_pending = False
            self._step({})

    def next_failed(self, clock: Stopwatch | None, error: BaseException) -> None:
        if clock is not None:
            self.progress.enter(Phase.BETWEEN)
            if isinstance(error, StopIteration):
                self._passes.exhausted()
            else:
                exceptions.left_call(self.session, error, "loader")
                self.session.guard("badfiles", bad_files.look, self.session, error, str(error))

    def _dataset_is(self, role: str) -> None:
        """Said once it is known whether what was drawn is trained on."""
        iterator, self._dataset = self._dataset, None
        if getattr(iterator, "_dataset", None) is not None:
            where = user_lines.caller_line()
            self.session.guard("datasets", datasets.iterator_drawn, self.session, iterator, role, where)

    def _say_never_left(self) -> None:
        frame = user_lines.caller()
        if frame is not None and for_loops.never_left(frame):
            self.session.say(DataOnlyLoopSeen(where=user_lines.of_frame(frame)))

    # -- tf.function ----------------------------------------------------------------------------------

    def function_begins(self, function: Any) -> bool:
        """True when this is a call of the user's own from eager code, which may be a step."""
        return not self.quiet and not self.traces.stack and self._is_ours()

    def function_ends(self, function: Any, result: Any) -> None:
        if self.quiet:
            return
        self.traces.called(function)
        if id(function) in self._training:
            self._see("tf_function", function)
            self._step(self._logs_of(function, result))
        elif self.progress.step and self.progress.phase in (Phase.STEP, Phase.VALIDATION, Phase.BETWEEN):
            self._dataset_is("validation")
            self.progress.test_batches += 1
            self.progress.enter(Phase.VALIDATION)

    # -- optimizers -----------------------------------------------------------------------------------

    def applied(self, optimizer: Any, eager: bool, gradients: Any = None) -> None:
        """An optimizer was asked to apply gradients: now, or in a function that is being traced."""
        if self.fits.current is not None:
            return
        if self._optimizer() is None:
            self._optimizer = current_batch.weak(optimizer)
        if not eager:
            for function, _ in self.traces.stack:
                self._training.add(id(function))
            if not self.traces.stack:
                self._see("stateless_apply", None)
                if not jax_jit.of(
                    self.session
                ).mark():  # its calls cannot be seen, the batches of this dataset can
                    self._trained_on, self._batch_pending = self._current, self._current is not None
            return
        if self._inside or self.traces.stack:
            return
        if self._optimizer() is optimizer:
            self._see("apply_gradients", None)
            loss, self._loss = self._loss, None
            gradient = self.session.guard("losses", finiteness.small_gradient, gradients)
            self._step({"loss": loss} if loss is not None else {}, gradient)

    def optimizer_stepped(self, optimizer: Any) -> None:
        """An optimizer of torch's has changed the weights."""
        if self.quiet:
            return
        if self._optimizer() is None:
            self._optimizer = current_batch.weak(optimizer)
        if self._optimizer() is optimizer:
            self._see("torch_optimizer", None)
            loss, self._loss = self._loss, None
            last = optimizer.param_groups[-1]["params"][-1]
            gradient = self.session.guard("losses", finiteness.small_gradient, [last.grad])
            self._step({"loss": loss} if loss is not None else {}, gradient)

    def gradient_asked(self, target: Any) -> None:
        """What a GradientTape differentiates is the loss, where it is a number in host memory."""
        if not self.quiet and step_outputs.is_scalar(target) and finiteness.in_host_memory(target):
            self._loss = target

    # -- train_on_batch ---------------------------------------------------------------------------------

    def batch_begins(self, model: Any, *given: Any, **named: Any) -> Any:
        counts = not self.quiet
        self._inside += 1
        if counts:
            self.session.guard(
                current_batch.PART, current_batch.of(self.session).drawn, [*given, *named.values()]
            )
            self._take_over()
            self._optimizer = current_batch.weak(getattr(model, "optimizer", None))
            self.progress.enter(Phase.STEP if self.progress.step else Phase.COMPILE)
        return counts

    def batch_ends(self, counts: Any, result: Any, model: Any) -> None:
        self._inside = max(0, self._inside - 1)
        if not counts:
            return
        self._see("train_on_batch", None)
        names = list(getattr(model, "metrics_names", None) or ["loss"])
        values = result if isinstance(result, list | tuple) else [result]
        logs = result if isinstance(result, dict) else dict(zip(names, values, strict=False))
        self._step({str(name): value for name, value in logs.items() if step_outputs.is_scalar(value)})
        self.session.guard("models", model_facts.seen, self.session, model)

    # -- a step -----------------------------------------------------------------------------------------

    def _step(self, logs: dict[str, Any], gradient: Any = None) -> None:
        self._take_over()
        self._dataset_is("train")
        progress = self.progress
        now = time.perf_counter_ns()
        if self._step_began_ns:
            progress.step_ns = now - self._step_began_ns
        if self._iterator is None:  # no iterator to time by: from step to step
            self._step_began_ns = now
        progress.step += 1
        if progress.step == 1:
            self.session.guard(retained_objects.PART, retained_objects.start, self.session)
            self.session.guard(open_loops.PART, open_loops.tell, self.session)
            self.session.guard("frameworks", framework_versions.devices_seen, self.session)
            self.session.at_exit.append(self.look_over)
            self.session.at_exit.append(jax_jit.of(self.session).read_losses)
        progress.train_batches += 1
        self._passes.stepped()
        self._iterator_trained = True
        self._stepped_on = self._current
        watch = loss_watch.of(self.session)
        model = self.model()
        self.session.guard("losses", watch.loop_step, model, logs, gradient)
        progress.enter(Phase.STEP if self._iterator is not None else Phase.BETWEEN)

    def model(self) -> Any:
        """Something with the attributes of a model that the facts are read from."""
        return model_facts.OptimizerModel(self._optimizer())

    # -- jax.jit ----------------------------------------------------------------------------------------

    def losses_of(self, function: Any, result: Any) -> dict[str, Any]:
        """The losses among what a jitted step has returned, perhaps not computed yet."""
        names = self._returned_names(id(function), getattr(function, "__wrapped__", None))
        found = step_outputs.by_name(names, result)
        if len(found) == 1 and not _OTHER_NUMBER.search(next(iter(found))):
            return {
                "loss": next(iter(found.values()))
            }  # weights and states are no scalars: the only one is the loss
        return found

    def jit_stepped(self) -> None:
        if not self.quiet:
            self._take_over()
            if not self._said:
                self._see("jax", None)
            self._step({})

    def jit_loss(self, step: int, loss: float) -> None:
        """Of a step of late. The weights live in the loop, so that only the loss is told."""
        model = SimpleNamespace(optimizer=self._optimizer(), trainable_variables=[], name="")
        self.session.guard("losses", loss_watch.of(self.session).loop_step, model, {"loss": loss}, None, step)

    def look_over(self) -> None:
        """At the end of an epoch and of the process."""
        self.session.guard("losses", loss_watch.of(self.session).epoch_over, self.model())

    def _logs_of(self, function: Any, result: Any) -> dict[str, Any]:
        names = self._returned_names(id(function), getattr(function, "_python_function", None))
        found = step_outputs.by_name(names, result)
        return {name: value for name, value in found.items() if finiteness.in_host_memory(value)}

    def _returned_names(self, key: int, function: Any) -> list[str]:
        names = self._names.get(key)
        if names is None:
            names = self._names[key] = step_outputs.names_in(function)
        return names

    def _see(self, by: str, function: Any) -> None:
        where = (
            user_lines.of_function(getattr(function, "_python_function", None))
            if function is not None
            else ""
        )
        where = where or user_lines.caller_line()
        if by not in self._said and len(self._said) < 10:
            self._said.add(by)
            self.session.say(LoopSeen(by=by, where=where))

    def _take_over(self) -> None:
        if not self._said:
            self.progress.thread = threading.get_ident()
            self.session.take_ring()

    def _is_ours(self) -> bool:
        return self.progress.here


def of(session: ProbeContext) -> CustomLoop:
    found = session.seen.get("loop")
    if found is None:
        found = session.seen["loop"] = CustomLoop(session)
    return found


def hook_functions(session: ProbeContext, module: Any) -> None:
    """`tf.function` objects."""
    kind, loop = module.Function, of(session)
    original, numbers = kind.__call__, itertools.count()

    @functools.wraps(original)
    def told(self: Any, *args: Any, **kwargs: Any) -> Any:
        if session.closed or PART in session.off:
            return original(self, *args, **kwargs)
        counts = loop.fits.current is None and session.guard(PART, loop.function_begins, self)
        stack = loop.traces.stack
        stack.append((self, next(numbers)))
        result = None
        try:
            result = original(self, *args, **kwargs)
            return result
        finally:
            stack.pop()
            if counts:
                session.guard(PART, loop.function_ends, self, result)

    kind.__call__ = told


def hook_iterators(session: ProbeContext, module: Any) -> None:
    watch_iterators(session, module.OwnedIterator)


def watch_iterators(session: ProbeContext, kind: Any) -> None:
    loop = of(session)
    observe(
        session, kind, "__next__", PART,
        before=lambda args, kwargs: loop.next_begins(args[0]),
        after=loop.next_ends,
        failed=loop.next_failed,
    )  # fmt: skip


def hook_tape(session: ProbeContext, module: Any) -> None:
    loop = of(session)
    observe(
        session, module.GradientTape, "gradient", PART,
        before=lambda args, kwargs: loop.gradient_asked(args[1] if len(args) > 1 else kwargs.get("target")),
    )  # fmt: skip


def hook_optimizer3(session: ProbeContext, module: Any) -> None:
    """Keras 3: `apply_gradients` calls `apply`; on JAX a loop calls `stateless_apply`."""
    loop = of(session)
    for name in ("apply", "stateless_apply"):
        observe(
            session, module.BaseOptimizer, name, PART,
            before=lambda args, kwargs: (args[0], _is_eager(args[1:], kwargs), _gradients(args, kwargs)),
            after=lambda token, _: loop.applied(*token) if token else None,
        )  # fmt: skip


def _gradients(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    given = args[1] if len(args) > 1 else kwargs.get("grads")
    return given if isinstance(given, list | tuple) else None


def watch_train_on_batch(session: ProbeContext, kind: Any) -> None:
    loop = of(session)
    observe(
        session, kind, "train_on_batch", PART,
        before=lambda args, kwargs: (loop.batch_begins(*args, **kwargs), args[0]),
        after=lambda token, result: loop.batch_ends(token[0], result, token[1]) if token else None,
        failed=lambda token, error: loop.batch_ends(False, None, None),
    )  # fmt: skip


def _is_eager(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether the first gradient is a value and not a symbol of a function that is being traced."""
    for value in [*args, *kwargs.values()]:
        for leaf in datasets.leaves(value if not hasattr(value, "__next__") else None):
            word = type(leaf).__name__
            if "Tracer" in word or word in ("SymbolicTensor", "KerasTensor"):
                return False
            if hasattr(leaf, "dtype") and not hasattr(leaf, "assign"):
                return True
    return True
