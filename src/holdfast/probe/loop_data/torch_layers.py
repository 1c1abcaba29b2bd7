"""What torch's record of operations shows of a step: the arrays that it starts from, and what its layers gave.

torch keeps, for the backward pass, the input of every layer with weights and the output of most activations. They are
read before `backward`, and the gradients at the optimizer's step; no module is wrapped and nothing is computed again.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ...journal.events import LayersMeasured
from ..learning import layer_statistics
from ..runtime import torch_values
from ..runtime.context import ProbeContext
from . import torch_modes
from .torch_modes import kind_of, saved

PART = "torch_layers"
_MOST_NODES = 3_000
_MOST_LAYERS, _MOST_VALUES, _MOST_GRADIENTS = 60, 2_000_000, 100
#: Which input of an operation with weights is the data, and under what name torch keeps it.
_LAYERS = {
    "Addmm": (1, "mat1"), "Mm": (0, "self"), "Convolution": (0, "input"), "MkldnnConvolution": (0, "self"),
    "Embedding": (0, "indices"), "Linear": (0, "input"), "Bmm": (0, "self"),
}  # fmt: skip
_SAME_VALUES = (
    "View",
    "UnsafeView",
    "Reshape",
    "ReshapeAlias",
    "Unsqueeze",
    "Squeeze",
    "Permute",
    "Transpose",
)
_ACTIVATIONS = {"Relu": "relu", "Sigmoid": "sigmoid", "Tanh": "tanh", "Threshold": "relu"}


class TorchLayers:
    def __init__(self, context: ProbeContext) -> None:
        self._context = context
        self.modes = torch_modes.TorchModes(context)
        self.new_run()

    def new_run(self) -> None:
        self._activations: list[dict[str, Any]] = []
        self._rows = 0
        self._measured: LayersMeasured | None = None
        self.modes.new_run()

    def differentiated(self, loss: Any, target: Any) -> None:
        """`target`: what the loss compares with, where that is known."""
        calls = self._context.loss_calls
        inputs, activations, modes = _read(loss)
        self._context.guard(torch_modes.PART, self.modes.looked_at, modes)
        if inputs and calls.wants_rows_of("record"):
            with_rows = _without_states([one for one in inputs if one.dim() and len(one) > 1])
            with_rows = [one for one in with_rows if one.is_floating_point()]  # ids are no amounts
            rows = max((len(one) for one in with_rows), default=0)
            first = next((one for one in with_rows if len(one) == rows), None)
            if first is not None:
                calls.passed("record", first, None)
                calls.rows_seen(first, target)
        self._activations = []
        self._rows = int(activations[0][1].shape[0]) if activations else 0
        for place, (activation, value) in enumerate(activations[::-1][:_MOST_LAYERS]):  # from the input on
            here = torch_values.on_host(value) if value.numel() <= _MOST_VALUES else None
            if here is not None:
                numbers = layer_statistics.of_layer(here.float().numpy(), activation, value.dim() == 4)
                self._activations.append(
                    {"name": f"{activation} {place + 1}", "kind": "", "activation": activation, **numbers}
                )

    def broke(self, loss: Any) -> None:
        """The first loss that is not finite: whether what its layers were given was."""
        inputs, _, _ = _read(loss)
        here = [torch_values.on_host(one) for one in inputs if one.is_floating_point()]
        self._context.inputs.batch_broke([one.float().numpy() for one in here if one is not None])

    def stepped(self, parameters: list[Any]) -> None:
        """The optimizer's, whose gradients are still there."""
        if not self._activations and len(parameters) < 4:
            return
        first = self._measured is None
        self._measured = LayersMeasured(
            step=self._context.heartbeat.step, reason="loop", rows=self._rows, activations=self._activations,
            gradients=_norms(parameters),
        )  # fmt: skip
        self._activations = []
        if first:
            self._context.at_exit.append(self._write)

    def _write(self) -> None:
        if self._measured is not None and self._measured.activations:
            self._context.record(self._measured)


def nodes_below(loss: Any, most: int) -> Iterator[Any]:
    """The operations that a loss comes from, nearest to it first."""
    pending: list[Any] = [loss.grad_fn]
    seen: set[Any] = set()
    while pending and len(seen) < most:
        node = pending.pop(0)
        if node is None or node in seen:
            continue
        seen.add(node)
        yield node
        pending += [child for child, _ in node.next_functions]


def _read(loss: Any) -> tuple[list[Any], list[tuple[str, Any]], list[tuple[str, Any]]]:
    """Arrays that no operation with a gradient has made, outputs of activations, and operations of layers that act
    otherwise in inference; nearest to the loss first."""
    inputs: list[Any] = []
    modes: list[tuple[str, Any]] = []
    activations: list[tuple[str, Any]] = []
    for node in nodes_below(loss, _MOST_NODES):
        kind = kind_of(node)
        children = [child for child, _ in node.next_functions]
        if kind in _LAYERS:
            place, name = _LAYERS[kind]
            # What is looked up has no gradient, and no place among the children.
            if kind == "Embedding" or (place < len(children) and children[place] is None):
                inputs += [one for one in [saved(node, name)] if one is not None]
        elif kind in _ACTIVATIONS:
            result = saved(node, "result")
            if result is not None and result.dim() > 1:
                activations.append((_ACTIVATIONS[kind], result))
        if kind == "Mul" or "BatchNorm" in kind or "Dropout" in kind:
            modes.append((kind, node))
    return inputs, activations, modes


def _without_states(inputs: list[Any]) -> list[Any]:
    """Without the zeros that a recurrent layer begins with, where there is something else."""
    return [one for one in inputs if len(inputs) == 1 or bool((one != 0).any())] or inputs


def _norms(parameters: list[Any]) -> list[dict[str, Any]]:
    found = []
    for place, one in enumerate(parameters[:_MOST_GRADIENTS]):
        gradient = one.grad
        if gradient is None or one.dim() < 2 or one.numel() > _MOST_VALUES or gradient.is_sparse:
            continue
        gradient, here = torch_values.on_host(gradient), torch_values.on_host(one)
        if gradient is None or here is None:
            continue
        norm, weights = (float(value.float().norm()) for value in (gradient, here))
        about = {"name": "kernel", "layer": f"weight {place + 1}", "units": int(one.shape[0])}
        found.append({**about, "norm": norm, "weight_norm": weights})
    return found
