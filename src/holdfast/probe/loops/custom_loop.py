"""Training without `fit`: what the observers of TensorFlow, JAX and torch see becomes steps, passes and losses."""

from __future__ import annotations

import os
import re
import threading
import time
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from ...journal.beats import Phase
from ...journal.events import DataOnlyLoopSeen, LoopSeen
from ..loop_data import gpu_losses, loss_metrics, paired_loaders, step_arguments, update_counts
from ..runtime import user_lines
from ..runtime.context import ProbeContext
from ..runtime.heartbeat import Stopwatch
from ..runtime.weak_references import Numbers, weak
from ..state import finiteness, loop_source, loss_watch, model_facts, named_rate
from . import data_end, hand_updates, loss_calls, replica_threads, step_outputs, unapplied_gradients
from .data_passes import DataPasses
from .inner_steps import InnerSteps

PART = "custom_loop"
_OTHER_NUMBER = re.compile(r"acc|metric|score|rate|norm|count|step", re.IGNORECASE)
_MAX_RECORDED = 10
_ON_JAX = frozenset({"jax", "stateless_apply"})  # ways to know a step


class CustomLoop:
    """The steps of a loop of the user's own, known from what it calls. Does nothing while a fit is under way."""

    def __init__(self, context: ProbeContext) -> None:
        self.context = context
        self.heartbeat = context.heartbeat
        self.fits = context.fits
        self.traces = context.traces
        self.jitted: step_outputs.JittedCalls | None = None
        self._passes = DataPasses(context)
        self._training: set[int] = set()  # tf.function objects that apply gradients
        self._optimizer: Callable[[], Any] = lambda: None  # the first one seen: its steps are the loop's
        self._recorded: set[str] = set()  # by what its steps are known
        self._iterator: Callable[[], Any] | None = None  # drawn from last; its number may be given again
        self._iterator_trained = False
        self._step_began_ns = 0
        self._loss: Any = None
        self._datasets = Numbers()
        self._current: int | None = None  # the dataset drawn from last
        self._stepped_on: int | None = None  # the dataset of the last step
        self._trained_on: int | None = None  # the dataset of a step that JAX compiled
        self._batch_pending = False  # a batch of it was drawn, and its step is not counted yet
        self._iterating: Any = None  # an iterator that is drawn from, and not yet known what for
        self._returned: dict[int, step_outputs.Returned] = {}
        self._inner = InnerSteps(context)
        self.paired = paired_loaders.PairedLoaders(context)
        self._began_in = 0  # the process whose first step was recorded
        self._reads_late = False
        self._late: tuple[int, int, dict[str, Any]] | None = (
            None  # step, epoch and losses that are on a device
        )

    def new_run(self) -> None:
        self._recorded.clear()
        self._passes = DataPasses(self.context)
        self._inner.new_run()
        self.paired.new_run()
        self._began_in = 0
        self._late = None

    @property
    def quiet(self) -> bool:
        """Inside fit, evaluate, predict or train_on_batch: what they call is no loop of the user's."""
        return self.fits.current is not None or self.fits.calls_open > 0

    @property
    def empty_passes(self) -> int:
        return self._passes.empty

    @property
    def iterator(self) -> Any:
        """A reference to the one that is drawn from; another object for each. None where there is none."""
        return self._iterator

    @property
    def optimizer(self) -> Any:
        return self._optimizer()

    @property
    def in_jitted_call(self) -> bool:
        return self.jitted is not None and self.jitted.in_call

    @property
    def step_result(self) -> str:
        """Whether JAX, which computes in the background, has done the newest step: pending | ready | unknown; "" where
        JAX makes no steps."""
        if self.quiet or not self._recorded & _ON_JAX:
            return ""
        return self.jitted.result if self.jitted is not None else "unknown"

    # -- waiting for data -----------------------------------------------------------------------------

    def next_begins(self, iterator: Any) -> Stopwatch | None:
        heartbeat = self.heartbeat
        if self.quiet or not self.heartbeat.is_training_thread:
            return None
        self._count_pending()
        now = time.perf_counter_ns()
        if self._step_began_ns and heartbeat.step > 1 and heartbeat.phase in (Phase.STEP, Phase.VALIDATION):
            heartbeat.compute_ns += now - self._step_began_ns
        fresh = self._iterator is None or self._iterator() is not iterator
        if fresh:
            self.context.keep_heartbeat()
            self._passes.begins()
            self._iterator = weak(iterator)
            self.context.guard(paired_loaders.PART, self.paired.changed, iterator)
            if self._iterator_trained:
                heartbeat.epoch += 1
                self.check_weights()
            self._iterator_trained = False
            heartbeat.train_batches = heartbeat.test_batches = 0
            self._iterating = iterator
            dataset = getattr(iterator, "_dataset", None)
            self._current = self._datasets.of(dataset) if dataset is not None else None
            if (
                not heartbeat.step
            ):  # nothing has been trained yet: if it blocks here, this is what it blocks on
                self._dataset_is("train")
                self.context.guard(loop_source.PART, self._record_never_left)
            else:
                self.context.guard(loop_source.PART, self._passes.read_head)
        elif heartbeat.step and self._current != self._stepped_on and self._passes.without_steps():
            self._dataset_is("validation")
            heartbeat.test_batches = max(heartbeat.test_batches, self._passes.batches)
        heartbeat.set_phase(Phase.FILL if fresh else Phase.DATA_WAIT)
        return Stopwatch()

    def iterator_restarts(self, iterator: Any) -> None:
        """One with persistent workers begins every pass itself, instead of a new one."""
        if self._iterator is not None and self._iterator() is iterator:
            self._iterator = None

    def next_ends(self, clock: Stopwatch | None, element: Any) -> None:
        if clock is None:
            return
        heartbeat = self.heartbeat
        self._passes.drew()
        if not heartbeat.step or self._current == self._stepped_on:
            self.context.inputs.batch_fetched(element, heartbeat.step + 1)
            self.context.inputs.loop_batch_fetched(element)
            self._sample_batch(element)
        if heartbeat.phase is not Phase.FILL:
            heartbeat.data_wait_ns += clock.ns
        self._step_began_ns = time.perf_counter_ns()
        self._batch_pending = self._trained_on is not None and self._trained_on == self._current
        heartbeat.set_phase(Phase.STEP)

    def _sample_batch(self, element: Any) -> None:
        if self.context.loss_calls.wants_batches:
            self.context.guard(loss_calls.PART, self.context.loss_calls.batch, element)

    def _count_pending(self) -> None:
        if self._batch_pending:
            self._batch_pending = False
            self._step({})

    def exhausted(self, clock: Stopwatch | None) -> None:
        if clock is not None:
            self.heartbeat.set_phase(Phase.BETWEEN)
            if self._passes.exhausted(self._current):
                self._dataset_is("validation")
            self._asked_in_vain()

    def _asked_in_vain(self, error: BaseException | None = None) -> None:
        ended = error is None or type(error).__name__ in ("OutOfRangeError", "StopIteration")
        if ended and self._iterator_trained and not self.quiet:
            self.context.guard(data_end.PART, self.context.data_end.asked_in_vain)

    def next_failed(self, clock: Stopwatch | None, error: BaseException) -> None:
        if clock is not None:
            self.heartbeat.set_phase(Phase.BETWEEN)
            self._asked_in_vain(error)
            self.context.exceptions.left_call(error, "loader")
            self.context.inputs.search_bad_files(error)

    def _dataset_is(self, role: str) -> None:
        """Recorded once it is known whether what was drawn is trained on."""
        iterator, self._iterating = self._iterating, None
        if getattr(iterator, "_dataset", None) is not None:
            self.context.inputs.loop_iterates(iterator, role, user_lines.caller_line())
            if role == "validation":
                self._passes.record_head()

    def _record_never_left(self) -> None:
        frame = user_lines.caller()
        if frame is not None and loop_source.never_left(frame):
            self.context.record(DataOnlyLoopSeen(where=user_lines.of_frame(frame)))

    # -- tf.function ----------------------------------------------------------------------------------

    def function_begins(self, function: Any) -> bool:
        """True when this is a call of the user's own from eager code, which may be a step."""
        counts = not self.quiet and not self.traces.stack and self.heartbeat.is_training_thread
        if counts and self._inner.loops(function):
            self._inner.call_begins()
        return counts

    def function_failed(self, function: Any, error: BaseException) -> None:
        """The step that raised is none; those before it in a loop of the function's own are."""
        steps = self._inner.call_ends(function) if self._inner.counting else 0
        if steps and not self.quiet:
            self._record_loop("tf_function", function)
            self._step({}, steps=steps)
        self._asked_in_vain(error)
        if not self.quiet and isinstance(error, Exception):  # it may read its data itself
            self.context.inputs.search_bad_files(error)

    def function_ends(self, function: Any, result: Any, given: Any = ((), {})) -> None:
        """`given`: the positional and the named arguments of the call."""
        if self.quiet:
            return
        self.traces.called(function)
        if self.context.gradients.unread:
            self.context.guard(unapplied_gradients.PART, self.context.gradients.read_weights)
        if self.context.guard(hand_updates.PART, self.context.hand_updates.changed_by, function):
            self._training.add(id(function))
        if id(function) not in self._training:
            self.context.guard(update_counts.PART, self.context.update_counts.called, function, result)
        if id(function) in self._training:
            self._record_loop("tf_function", function)
            if self._iterator is None:
                self.context.inputs.loop_batch_fetched([*given[0], *given[1].values()])
            steps = self._inner.call_ends(function) if self._inner.counting else 1
            self._step(self.function_logs(function, result), steps=steps)
            if self.context.loss_calls.wants_batches:
                self.context.guard(step_arguments.PART, self.context.step_arguments.called, function, *given)
        elif self.heartbeat.step and self.heartbeat.phase in (Phase.STEP, Phase.VALIDATION, Phase.BETWEEN):
            self._dataset_is("validation")
            self.heartbeat.test_batches += 1
            self.heartbeat.set_phase(Phase.VALIDATION)

    # -- optimizers -----------------------------------------------------------------------------------

    def applied(self, optimizer: Any, eager: bool, gradients: Any = None) -> None:
        """An optimizer was called to apply gradients: now, or in a function that is being traced."""
        if self.fits.current is not None:
            return
        if self._optimizer() is None:
            self._optimizer = weak(optimizer)
        if not eager:
            calls = self.traces.traced_calls()
            for function, _ in calls:
                self._training.add(id(function))
                if self._optimizer() is optimizer:
                    self._inner.traced(function, optimizer)
            if not calls:
                self._record_loop("stateless_apply", None)
                jitted = self.jitted is not None and self.jitted.mark_training()
                if not jitted:  # its calls cannot be seen, the batches of this dataset can
                    self._trained_on, self._batch_pending = self._current, self._current is not None
            return
        if self.fits.calls_open or self.traces.stack or replica_threads.number() > 0:
            return
        self.context.guard(update_counts.PART, self.context.update_counts.updated, optimizer)
        if self._optimizer() is optimizer:
            self._record_loop("apply_gradients", None)
            loss, self._loss = self._loss, None
            gradient = self.context.guard(loss_watch.PART, finiteness.small_gradient, gradients)
            terms = self.context.loss_terms.take()
            self._step({**terms, "loss": loss} if loss is not None else {}, gradient)

    def optimizer_stepped(self, optimizer: Any) -> None:
        """An optimizer of torch's has changed the weights."""
        if self.quiet:
            return
        if self._optimizer() is None:
            self._optimizer = weak(optimizer)
        self.context.guard(update_counts.PART, self.context.update_counts.updated, optimizer)
        if self._optimizer() is optimizer:
            self._record_loop("torch_optimizer", None)
            loss, self._loss = self._take_loss(), None
            last = optimizer.param_groups[-1]["params"][-1:]  # a group may be empty
            gradients = [one.grad for one in last]
            gradient = self.context.guard(loss_watch.PART, finiteness.small_gradient, gradients)
            terms = self.context.loss_terms.take()
            self._step({**terms, "loss": loss} if loss is not None else {}, gradient)

    def _take_loss(self) -> Any:
        """The loss of this step, where it is known now; that of a GPU comes later, with the step's number."""
        if self._loss is not None and _is_on_cuda(self._loss):
            self.context.guard(
                gpu_losses.PART, self.context.gpu_losses.stepped, self.heartbeat.step + 1, self._loss
            )
            return None
        return self._loss

    def hand_stepped(self, steps: int) -> None:
        """Weights were changed by the loop itself; `steps`: with those before that was known."""
        self._record_loop("by_hand", None)
        loss, self._loss = self._take_loss(), None
        self._step({"loss": loss} if loss is not None else {}, steps=steps)

    def gradient_taken(self, target: Any) -> None:
        """What a GradientTape or torch differentiates is the loss, where it is a number that can be read."""
        if self.quiet or not step_outputs.is_scalar(target):
            return
        self.context.guard(loss_metrics.PART, self.context.loss_metrics.differentiated, target)
        if not self.traces.stack:
            self.context.guard(update_counts.PART, self.context.update_counts.taken, target)
        if finiteness.in_host_memory(target) or _is_on_cuda(target):
            self._loss = target

    # -- train_on_batch ---------------------------------------------------------------------------------

    def batch_begins(self, model: Any, *given: Any, **named: Any) -> Any:
        counts = not self.quiet
        self.fits.calls_open += 1
        if counts:
            self.context.inputs.loop_batch_fetched([*given, *named.values()])
            self._sample_batch([*given, *named.values()])
            self._take_over()
            self._optimizer = weak(getattr(model, "optimizer", None))
            self.heartbeat.set_phase(Phase.STEP if self.heartbeat.step else Phase.COMPILE)
        return counts

    def batch_ends(self, counts: Any, result: Any, model: Any) -> None:
        self.fits.calls_open = max(0, self.fits.calls_open - 1)
        if not counts:
            return
        self._record_loop("train_on_batch", None)
        names = list(getattr(model, "metrics_names", None) or ["loss"])
        values = result if isinstance(result, (list, tuple)) else [result]
        logs = result if isinstance(result, dict) else dict(zip(names, values))
        self._step({str(name): value for name, value in logs.items() if step_outputs.is_scalar(value)})
        self.context.models.seen(model)

    # -- sessions ---------------------------------------------------------------------------------------

    def session_begins(self, phase: Phase) -> bool:
        """A step of a session begins, or a batch of an evaluation; whether it is looked at."""
        if self.quiet or not self.heartbeat.is_training_thread:
            return False
        self._take_over()
        self.heartbeat.set_phase(phase)
        return True

    def session_stepped(self, logs: dict[str, Any]) -> None:
        self._record_loop("session", None)
        self._step(logs)

    # -- a step -----------------------------------------------------------------------------------------

    def _step(self, logs: dict[str, Any], gradient: Any = None, steps: int = 1) -> None:
        """`steps`: how many are new; a function with a loop of its own makes many in one call."""
        self._take_over()
        self._dataset_is("train")
        heartbeat = self.heartbeat
        now = time.perf_counter_ns()
        if self._step_began_ns:
            heartbeat.step_ns = (now - self._step_began_ns) // max(1, steps)
        if self._iterator is None:  # no iterator to time by: from step to step
            self._step_began_ns = now
        heartbeat.step += steps
        if self._began_in != os.getpid():
            self._began_in = os.getpid()
            self.context.memory.training_began()
            self.context.same_point.training_began()
            self.context.open_loops.record()
            self.context.guard(data_end.PART, self.context.data_end.first_step)
            self.context.frameworks.record_devices()
            self.context.at_exit += [self.context.losses.write_newest, self.check_weights]
            self.context.motion.loop_began(self.model())
            self.context.loop_model.stepped(self.model())
            self.context.at_exit += [self._compare_weights, self.context.update_counts.at_exit]
            if self.jitted is not None:
                self.context.at_exit.append(self.jitted.read_all)
        heartbeat.train_batches += steps
        self._passes.stepped()
        self._iterator_trained = True
        self._stepped_on = self._current
        if "loss" not in logs:
            mean = self.context.guard(loss_metrics.PART, self.context.loss_metrics.loss, heartbeat.step)
            logs = {**logs, "loss": mean} if mean is not None else logs
        self.context.guard(loss_watch.PART, self.context.losses.loop_step, self.model(), logs, gradient)
        heartbeat.set_phase(Phase.STEP if self._iterator is not None else Phase.BETWEEN)

    def model(self) -> Any:
        """Something with the attributes of a model that the facts are read from."""
        optimizer = self._optimizer()
        return model_facts.OptimizerModel(optimizer if optimizer is not None else named_rate.NamedRate())

    # -- jax.jit ----------------------------------------------------------------------------------------

    def losses_of(self, function: Any, result: Any) -> dict[str, Any]:
        """The losses among what a jitted step has returned, perhaps not computed yet."""
        own, result = step_outputs.handed_on(getattr(function, "__wrapped__", None), result)
        returned = self._returned_by(id(function), own)
        scalars = step_outputs.by_name(returned, result)
        if len(scalars) == 1 and not _OTHER_NUMBER.search(next(iter(scalars))):
            return {"loss": next(iter(scalars.values()))}  # weights and states are no scalars: it is the loss
        return scalars

    def jit_stepped(self) -> None:
        if not self.quiet:
            self._take_over()
            if not self._recorded:
                self._record_loop("jax", None)
            self._step({})

    def late_loss(self, step: int, loss: float, weights_before: bool | None = None) -> None:
        """Of a step of late. The weights live in the loop, so that only the loss is known; `weights_before`: whether
        they were finite when the step began."""
        optimizer = self.model().optimizer
        model = SimpleNamespace(optimizer=optimizer, trainable_variables=[], name="")
        self.context.guard(
            loss_watch.PART, self.context.losses.loop_step, model, {"loss": loss}, None, step, weights_before
        )

    def late_broken_weights(self, step: int, loss: float) -> None:
        """Weights that a step of late was given are not finite, and its loss is."""
        self.context.guard(loss_watch.PART, self.context.losses.weights_broke, step, loss)

    def _compare_weights(self) -> None:
        self.context.motion.loop_ended(self.model(), self.heartbeat.step)

    def check_weights(self) -> None:
        """At the end of an epoch and of the process."""
        self.context.guard(loss_watch.PART, self.context.losses.epoch_over, self.model())

    def function_logs(self, function: Any, result: Any) -> dict[str, Any]:
        returned = self._returned_by(id(function), getattr(function, "_python_function", None))
        scalars = step_outputs.by_name(returned, result, self.context.loss_terms.loss_name)
        known = {name: value for name, value in scalars.items() if finiteness.in_host_memory(value)}
        if "loss" in scalars and "loss" not in known:
            self._read_later(scalars)
        return known

    def _read_later(self, scalars: dict[str, Any]) -> None:
        """Losses on a device: the background thread waits for the newest ones, this one does not."""
        self._late = self.heartbeat.step + 1, self.heartbeat.epoch, scalars
        if not self._reads_late:
            self._reads_late = True
            self.context.background.every_second(PART, self.read_late_losses)

    def read_late_losses(self, now: float) -> None:
        late, self._late = self._late, None
        if late is not None:
            step, epoch, scalars = late
            logs = {name: float(value) for name, value in scalars.items()}
            model = SimpleNamespace(optimizer=None, trainable_variables=[], name="")
            self.context.losses.late_logs_read(step, epoch, logs, model)

    def _returned_by(self, key: int, function: Any) -> step_outputs.Returned:
        returned = self._returned.get(key)
        if returned is None:
            returned = self._returned[key] = step_outputs.read(function)
        return returned

    def _record_loop(self, by: str, function: Any) -> None:
        where = (
            user_lines.of_function(getattr(function, "_python_function", None))
            if function is not None
            else ""
        )
        where = where or user_lines.caller_line()
        if by not in self._recorded and len(self._recorded) < _MAX_RECORDED:
            self._recorded.add(by)
            self.context.record(LoopSeen(by=by, where=where))

    def _take_over(self) -> None:
        if not self._recorded:
            if not replica_threads.is_replica():
                self.heartbeat.thread = threading.get_ident()
            self.context.open_heartbeat()


def _is_on_cuda(value: Any) -> bool:
    return getattr(getattr(value, "device", None), "type", "") == "cuda"
