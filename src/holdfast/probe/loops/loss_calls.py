"""What a loop without `fit` compares with its labels: recorded once for each loss, with numbers from the first batches.

`fit` knows the last layer, the loss and the labels from `compile` and its arguments. A loop is known by the loss that
it differentiates: by torch's record of operations, by the graph of a tf.function, or by a call of a Keras loss.
"""

from __future__ import annotations

import time
from typing import Any, NamedTuple, Optional, Tuple

from ...journal.events import OutputSeen
from ..detection import loop_places
from ..learning import outputs
from ..learning.drawn_rows import DrawnRows
from ..runtime import torch_values, user_lines
from ..runtime.context import ProbeContext
from ..runtime.weak_references import weak
from ..state import assigned_names, finiteness
from .loop_values import ValueSample

PART = "loss_calls"
_BATCHES = 50  # whose values are added up
_MOST_ASKED = 200
_MOST_OUTPUTS = 8
_WAIT_S = 20.0  # slow batches: what is known by then is written

Shape = Optional[Tuple[Optional[int], ...]]


class ComparedValues(NamedTuple):
    """Predictions against targets, as the framework's own record of operations shows them."""

    loss: str  # under the name that Keras gives it
    from_logits: bool | None = None
    activation: str = ""  # what the predictions went through last; "": not known
    layer: str = ""  # the operation that made them
    prediction_shape: Shape = None
    target_shape: Shape = None
    part: bool = False  # it is scaled, or one of several terms, so that its value is not what is minimised
    reads_behind: bool = False
    written_out: bool = False  # by the script, without dividing by the sum as Keras does
    prediction: Any = None  # arrays in host memory, where they can be read
    target: Any = None
    node: Any = None  # of the framework's record
    term: str = ""  # the number of the step that it is a part of, under the script's name
    mask: Any = None  # zeros and ones by which its places are multiplied or chosen
    units: int | None = None  # where the last axis of the predictions is another one

    @property
    def width(self) -> int | None:
        return self.units or (self.prediction_shape[-1] if self.prediction_shape else None)

    @property
    def key(self) -> tuple[Any, ...]:
        """Two calls with the same are one; the number of rows may differ."""
        ranks = len(self.prediction_shape or ()), len(self.target_shape or ())
        return self.loss, self.from_logits, self.activation, self.width, ranks


class LossCalls:
    def __init__(self, context: ProbeContext) -> None:
        self._context = context
        self.new_run()

    def new_run(self) -> None:
        self._recorded: dict[tuple[Any, ...], str] = {}  # what was seen, by what and where, and its name
        self._samples: dict[tuple[str, str], ValueSample] = {}
        self._predictions: dict[str, tuple[ValueSample, int]] = {}  # the newest of each output, and its step
        self._written: set[tuple[str, str]] = set()
        self._began = 0.0
        # Losses of Keras since the last gradient, what they were given, and what they returned.
        self._called: list[tuple[ComparedValues, tuple[Any, Any], Any]] = []
        self._gradients = 0  # of eager code, that were looked at
        self._places = loop_places.LoopPlaces(self._context, _array)
        self._from_data: set[int] = set()  # where the arrays of the newest batch lie
        self._rows = DrawnRows()
        self._asked = 0  # by steps that may show their batches and may not
        self._fed: str = ""  # what shows the batches: iterator | arguments | graph, whichever came first

    # -- what the loop differentiates -----------------------------------------------------------------

    def seen_in_fit(self, all_compared: list[ComparedValues], fit: Any) -> None:
        """What a step of the user's own minimises: what it is, not its values, which `fit` was given."""
        where = user_lines.of_function(outputs.own_loss(fit.model))
        for number, one in enumerate(all_compared):
            key = (fit.number, number, *one.key)
            if key in self._recorded or len(self._recorded) >= _MOST_OUTPUTS:
                continue
            name = self._recorded[key] = f"#{number}" if number else ""
            self._record(one, name, where, len(all_compared) > 1, fit.number)

    @property
    def fit_with_own_step(self) -> Any:
        """The fit that is under way, where code of the user's own computes its loss."""
        fit = self._context.fits.current
        return fit if fit is not None and outputs.own_loss(fit.model) is not None else None

    def seen(self, all_compared: list[ComparedValues], where: str = "", layer_where: str = "") -> None:
        for number, one in enumerate(all_compared):
            key = (where, number, *one.key)
            name = self._recorded.get(key)
            if name is None:
                if len(self._recorded) >= _MOST_OUTPUTS:
                    continue
                name = self._recorded[key] = f"{where}#{number}" if self._recorded else ""
                self._record(one, name, where, len(all_compared) > 1)
            self._add_values(one, name, where)
        self._context.guard(loop_places.PART, self._places.compared, all_compared)

    def keras_called(self, one: ComparedValues, result: Any) -> None:
        """Kept until a gradient is taken: a loss of a validation has none."""
        arrays = weak(one.prediction), weak(one.target)
        kept = one._replace(prediction=None, target=None)
        self._called = [*self._called[-_MOST_OUTPUTS:], (kept, arrays, weak(result))]

    def take_called(self) -> list[tuple[ComparedValues, Any]]:
        called, self._called = self._called, []
        return [
            (one._replace(prediction=arrays[0](), target=arrays[1]()), result())
            for one, arrays, result in called
        ]

    @property
    def any_recorded(self) -> bool:
        return bool(self._recorded)

    @property
    def wants_gradients(self) -> bool:
        """Of eager code the first ones; those of a function that is traced are few."""
        self._gradients += 1
        return self._gradients <= _BATCHES or bool(self._context.traces.stack)

    def _record(
        self, one: ComparedValues, name: str, where: str, several: bool, fit: int | None = None
    ) -> None:
        shape = one.prediction_shape
        self._context.record(
            OutputSeen(
                by="call" if fit is None else "step",
                fit=fit,
                output=name,
                layer=one.layer,
                units=one.width,
                activation=one.activation,
                where=where,
                loss=one.loss,
                from_logits=one.from_logits,
                reads_behind=one.reads_behind,
                loss_where=where,
                part=one.part or several,
                written_out=one.written_out,
                term=one.term,
                prediction_shape=list(shape) if shape is not None else None,
                target_shape=list(one.target_shape) if one.target_shape is not None else None,
            )
        )

    def _add_values(self, one: ComparedValues, name: str, where: str) -> None:
        step = self._context.heartbeat.step
        if one.target is not None and self._is_label(one):
            self._add("target", one.target, name, where)
            self._context.guard(loop_places.PART, self._places.add_target, one.target)
        values = _array(one.prediction)
        if values is not None:
            sample = ValueSample("prediction", name, where)
            sample.add(values)
            self._predictions[name] = sample, step + 1

    def _is_label(self, one: ComparedValues) -> bool:
        """Zeros or ones that the script makes up itself, as for a GAN or a residual, are no labels."""
        pointer = getattr(one.target, "data_ptr", None)
        if pointer is not None and pointer() in self._from_data:
            return True
        return self._varies(one.target)

    # -- batches that pass --------------------------------------------------------------------------------

    def batch(self, element: Any) -> None:
        """Of the data that is trained on: (inputs, targets) or inputs alone."""
        parts = element if isinstance(element, (tuple, list)) else [element]
        self._context.guard(loop_places.PART, self._places.batch, parts)
        arrays = [part for part in parts if hasattr(part, "shape") and hasattr(part, "dtype")]
        if len(arrays) != len(parts) or not 1 <= len(arrays) <= 3:
            return
        self._fed = self._fed or "iterator"
        if self._fed != "iterator":
            return
        if hasattr(arrays[0], "data_ptr"):  # torch, where the loss shows the target
            self._from_data = {part.data_ptr() for part in arrays[1:]}
            self._add("input", arrays[0])
            self._keep_rows(arrays[0], arrays[1] if len(arrays) > 1 else None)
            return
        self._add("input", arrays[0])
        if len(arrays) > 1:
            self._add("target", arrays[1])
            self._keep_rows(arrays[0], arrays[1])

    def passed(self, by: str, inputs: Any, targets: Any) -> None:
        """One batch of the loop, known from the arguments of its step or from what its loss is computed from."""
        self._fed = self._fed or by
        if self._fed != by:
            return
        if targets is not None:
            self._context.guard(loop_places.PART, self._places.batch, [inputs, targets])
        if inputs is not None:
            self._add("input", inputs)
        if targets is not None and self._varies(targets):
            self._add("target", targets)
            self._keep_rows(inputs, targets)

    def rows_seen(self, inputs: Any, targets: Any) -> None:
        """Where the labels are recorded elsewhere."""
        self._keep_rows(inputs, targets)

    def wants_rows_of(self, by: str) -> bool:
        self._asked += 1
        return self._fed in ("", by) and self._asked <= _MOST_ASKED and self.wants_batches

    def _keep_rows(self, inputs: Any, targets: Any) -> None:
        if ("input", "") not in self._written:
            arrays = _array(inputs), _array(targets)
            if all(one is not None for one in arrays):
                self._rows.add_arrays(*arrays)

    def _varies(self, targets: Any) -> bool:
        """Zeros or ones that the script makes up itself, as for a GAN, are no labels."""
        values = _array(targets)
        return values is not None and values.size > 0 and bool((values != values.reshape(-1)[0]).any())

    @property
    def wants_batches(self) -> bool:
        sample = self._samples.get(("input", ""))
        return sample is None or sample.batches < _BATCHES or ("input", "") not in self._written

    def _add(self, role: str, given: Any, name: str = "", where: str = "") -> None:
        key = (role, name)
        values = _array(given) if key not in self._written else None
        if values is None:
            return
        if not self._began:
            self._began = time.monotonic()
            self._context.at_exit.append(self.write_all)
        sample = self._samples.get(key)
        if sample is None:
            sample = self._samples[key] = ValueSample(role, name, where)
        sample.add(values)
        if sample.batches >= _BATCHES or time.monotonic() - self._began > _WAIT_S:
            self._write(key, sample)

    def _write(self, key: tuple[str, str], sample: ValueSample) -> None:
        if key not in self._written and sample.batches and self._context.heartbeat.step:
            self._written.add(key)
            self._context.record(sample.event(0))

    def write_all(self) -> None:
        """When the process ends: what was not written before, and the last predictions."""
        for key, sample in list(self._samples.items()):
            self._write(key, sample)
        self._context.guard(loop_places.PART, self._places.write)
        related = self._rows.dependence(None) if self._context.heartbeat.step else None
        if related is not None:
            self._context.record(related)
        self._rows = DrawnRows()
        for sample, step in self._predictions.values():
            self._context.record(sample.event(step))
        self._predictions = {}


def line_of(name: str) -> str:
    """Where the user's code computes what it differentiates: the assignment before the call of this method."""
    frame = user_lines.caller()
    if frame is None:
        return ""
    line = assigned_names.assigned_at(frame.f_code.co_filename, frame.f_lineno, name)
    return f"{user_lines.short(frame.f_code.co_filename)}:{line or frame.f_lineno}"


def line_in(function: Any) -> str:
    """The same in a function that is being traced, whose lines AutoGraph has rewritten."""
    code = getattr(function, "__code__", None)
    if code is None:
        return user_lines.of_function(function)
    line = assigned_names.differentiated_in(code.co_filename, code.co_firstlineno)
    return f"{user_lines.short(code.co_filename)}:{line}" if line else user_lines.of_code(code)


def _array(value: Any) -> Any:
    """As NumPy has it, where that waits for nothing or, of torch on a GPU, rarely; else None."""
    import numpy as np

    if value is None:
        return None
    if isinstance(value, np.ndarray):
        return value
    if hasattr(value, "detach"):
        value = torch_values.on_host(value)
        value = value.float() if value is not None and "bfloat16" in str(value.dtype) else value
    elif not finiteness.in_host_memory(value):
        return None
    return value.numpy() if hasattr(value, "numpy") else None
