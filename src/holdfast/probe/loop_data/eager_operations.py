"""The operations of one eager step under a GradientTape: what its loss is computed from, and what its layers give.

Eager TensorFlow keeps no graph. For a few steps of a loop the framework's own callback for operations is set while a
tape is open, until its gradient is taken. What was computed can then be read as a graph is: which operation made a
value, from which, with the values themselves. Nothing is computed for it, and no result is replaced.
"""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

from ...journal.events import LayersMeasured
from ..learning import layer_statistics
from ..runtime.context import ProbeContext

PART = "eager_operations"
_ALWAYS_FIRST = 12  # steps that are recorded, and then at every doubling of their number
_LAST_COUNTED = 1 << 20
_MOST_OPERATIONS, _MOST_BYTES = 4_000, 512 << 20
_MOST_LAYERS, _MOST_VALUES, _MOST_GRADIENTS = 60, 2_000_000, 100
_ACTIVATIONS = {"Relu": "relu", "Relu6": "relu6", "Sigmoid": "sigmoid", "Tanh": "tanh", "Softmax": "softmax"}


class Symbol:
    """A value of the step, with the attributes of a tensor in a graph."""

    __slots__ = ("dtype", "op", "shape", "users", "value")

    def __init__(self, value: Any, kind: str, inputs: list[Symbol]) -> None:
        self.value, self.dtype, self.shape = value, value.dtype, value.shape
        self.op = SimpleNamespace(type=kind, inputs=inputs)
        self.users: list[str] = []

    def consumers(self) -> list[Any]:
        return [SimpleNamespace(type=kind) for kind in self.users]


class EagerOperations:
    def __init__(self, context: ProbeContext) -> None:
        self._context = context
        self._installed = False
        self.new_run()

    def new_run(self) -> None:
        self._tapes = 0
        self._open = 0  # tapes of this step whose gradient was not taken yet
        self._made: dict[int, Symbol] = {}
        self._activations: list[tuple[str, Any]] = []
        self._operations = self._bytes = 0
        self._measured: LayersMeasured | None = None

    # -- recording --------------------------------------------------------------------------------------

    def tape_opened(self) -> None:
        context = self._context
        if context.loop.quiet or context.traces.stack or not context.heartbeat.is_training_thread:
            return
        if self._installed:  # two tapes of one step
            self._open += 1
            return
        self._tapes += 1
        if self._tapes > _ALWAYS_FIRST and (self._tapes & (self._tapes - 1) or self._tapes > _LAST_COUNTED):
            return
        callbacks = sys.modules.get("tensorflow.python.framework.op_callbacks")
        eager = sys.modules.get("tensorflow.python.eager.context")
        if (
            callbacks is None
            or eager is None
            or not eager.executing_eagerly()
            or eager.context().op_callbacks
        ):
            return
        self._forget()
        callbacks.add_op_callback(self._operation)
        self._installed, self._open = True, 1

    def _operation(
        self, op_type: Any, inputs: Any, attrs: Any, outputs: Any, op_name: Any = None, graph: Any = None
    ) -> None:
        """Returning nothing leaves the outputs as they are."""
        if graph is None and self._operations < _MOST_OPERATIONS and self._bytes < _MOST_BYTES:
            self._context.guard(PART, self._record, op_type, inputs, outputs)

    def _record(self, op_type: Any, inputs: Any, outputs: Any) -> None:
        self._operations += 1
        kind = op_type.decode() if isinstance(op_type, bytes) else str(op_type)
        below = [self._symbol_of(one) for one in inputs]
        for one in below:
            one.users.append(kind)
        for output in outputs:
            if not hasattr(output, "_id"):
                continue
            self._made[output._id] = Symbol(output, kind, below)
            self._bytes += int(output.shape.num_elements() or 0) * 4
        if (
            kind in _ACTIVATIONS
            and outputs
            and len(outputs[0].shape) > 1
            and len(self._activations) < _MOST_LAYERS
        ):
            self._activations.append((_ACTIVATIONS[kind], outputs[0]))

    def _symbol_of(self, value: Any) -> Symbol:
        """What no operation has made: a variable, a constant, or data."""
        known = self._made.get(value._id)
        if known is None:
            kind = (
                "VarHandleOp"
                if value.dtype.name == "resource"
                else "Placeholder"
                if len(value.shape)
                else "Const"
            )
            known = self._made[value._id] = Symbol(value, kind, [])
        return known

    def gradient_begins(self) -> None:
        """The backward pass is not recorded."""
        if self._installed and self._open <= 1:
            self._installed = False
            sys.modules["tensorflow.python.framework.op_callbacks"].remove_op_callback(self._operation)
        self._open = max(0, self._open - 1)

    def gradient_ends(self, sources: Any, gradients: Any) -> None:
        if self._made and not self._installed:
            if self._tapes >= _ALWAYS_FIRST or self._tapes & (self._tapes - 1) == 0:
                self._measure(sources, gradients)
            self._forget()

    def _forget(self) -> None:
        self._made, self._activations, self._operations, self._bytes = {}, [], 0, 0

    # -- reading ----------------------------------------------------------------------------------------

    def symbol(self, value: Any) -> Symbol | None:
        return self._made.get(getattr(value, "_id", -1))

    def compared(self, prediction: Any, target: Any) -> None:
        """What the loss compares: the arrays below it are inputs and labels."""
        calls = self._context.loss_calls
        if calls.wants_rows_of("operations"):
            inputs = _data_below(prediction)
            targets = [one for one in _data_below(target) if all(one is not other for other in inputs)]
            if inputs:
                calls.passed("operations", inputs[0], targets[0] if targets else None)

    def _measure(self, sources: Any, gradients: Any) -> None:
        activations = []
        for place, (activation, value) in enumerate(self._activations):
            if int(value.shape.num_elements() or 0) <= _MOST_VALUES:
                numbers = layer_statistics.of_layer(value.numpy(), activation, False)
                activations.append(
                    {"name": f"{activation} {place + 1}", "kind": "", "activation": activation, **numbers}
                )
        if not activations:
            return
        first = not self._measured
        rows = int(self._activations[0][1].shape[0] or 0)
        self._measured = LayersMeasured(
            step=self._context.heartbeat.step + 1, reason="loop", rows=rows,
            activations=activations, gradients=_norms(sources, gradients),
        )  # fmt: skip
        if first:
            self._context.at_exit.append(self._write)

    def _write(self) -> None:
        if self._measured is not None:
            self._context.record(self._measured)


def _norms(sources: Any, gradients: Any) -> list[dict[str, Any]]:
    import numpy as np

    found = []
    for place, (source, gradient) in enumerate(list(zip(sources or [], gradients or []))[:_MOST_GRADIENTS]):
        if gradient is None or not hasattr(gradient, "numpy") or len(source.shape) < 2:
            continue
        if int(np.prod(source.shape)) > _MOST_VALUES:
            continue
        path = str(getattr(source, "path", None) or getattr(source, "name", "")).split(":")[0].split("/")
        layer = path[-2] if len(path) > 1 else f"{path[-1]} {place}"
        weight = np.asarray(source.numpy(), dtype="float64")
        norm = float(np.sqrt(np.square(gradient.numpy().astype("float64")).sum()))
        found.append(
            {
                "name": "kernel",
                "layer": layer,
                "units": int(source.shape[-1]),
                "norm": norm,
                "weight_norm": float(np.sqrt(np.square(weight).sum())),
            }
        )
    return found


def _data_below(symbol: Any) -> list[Any]:
    """Arrays that were not computed, nearest first."""
    found: list[Any] = []
    pending, seen = [symbol], set()
    while pending:
        one = pending.pop(0)
        if id(one) in seen:
            continue
        seen.add(id(one))
        if one.op.type == "Placeholder" and one.dtype.name not in ("resource", "variant", "string"):
            found.append(one.value)
        pending += one.op.inputs
    with_rows = [one for one in found if int(one.shape[0] or 0) > 1]
    most = max((int(one.shape[0]) for one in with_rows), default=0)
    return [one for one in with_rows if int(one.shape[0]) == most]
