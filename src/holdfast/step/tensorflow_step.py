"""The compiled step on TensorFlow: micro-batches in a while loop, one update, assigned all at once.

Every new value is computed before the first variable is assigned, and an assignment allocates nothing: a step
that runs out of memory does not change the state.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Mapping, Sequence
from typing import Any

import tensorflow as tf

from holdfast.step import optimizer
from holdfast.step.network import Network, loss_sums, names_of
from holdfast.step.optimizer import OptimizerConfig, OptimizerState
from holdfast.step.step_protocol import BATCH_KEYS, Groups, from_groups, host_numbers, to_groups


class TensorFlowStep:
    def __init__(
        self, network: Network, config: OptimizerConfig, *, batch: int, micro_batch: int, jit: bool = False,
        state: OptimizerState | None = None,
    ) -> None:  # fmt: skip
        self.network, self.config, self.batch, self.micro_batch, self.jit = (
            network,
            config,
            batch,
            micro_batch,
            jit,
        )
        self.names, self.others = names_of(network.trainable), names_of(network.fixed)
        self.layout = network.layout()
        self._masks = optimizer.Masks(*(tf.constant(mask) for mask in self.layout.masks()))
        self._weights = [variable.value for variable in network.trainable]
        self._fixed = [variable.value for variable in network.fixed]
        self._optimizer_state = state or _variables(
            optimizer.initial_state(self.layout.flatten(self._weights), config)
        )
        self._compiled = tf.function(self._step, jit_compile=jit, autograph=False)

    def __call__(self, batch: Mapping[str, Any], *, step: int, learning_rate: float, frozen: bool) -> Any:
        used = {name: tf.convert_to_tensor(batch[name]) for name in BATCH_KEYS if name in batch}
        return self._compiled(
            used, tf.constant(step, tf.int32), tf.constant(learning_rate, tf.float32), tf.constant(frozen)
        )

    def fetch(self, result: Any) -> dict[str, Any]:
        squares = result["squares"]
        light = {name: value for name, value in result.items() if name != "squares"}
        plain = tf.nest.map_structure(lambda value: value.numpy(), light)
        return host_numbers({**plain, "squares": lambda: squares.numpy()}, self.layout, self.names)

    def undo(self, result: Any) -> bool:
        """Nothing to do: an error of the step is raised by the call itself, before anything is assigned."""
        return False

    def export(self) -> Groups:
        optimizer_state = OptimizerState(self.layout.flatten(self._weights), *self._optimizer_state[1:])
        host = OptimizerState(*(value.numpy().copy() for value in optimizer_state))
        fixed = [variable.numpy().copy() for variable in self._fixed]
        return to_groups(host, fixed, self.layout, self.names, self.others)

    def load(self, groups: Mapping[str, Mapping[str, Any]]) -> None:
        optimizer_state, fixed = from_groups(groups, self.names, self.others)
        self._assign(optimizer_state, self.layout.unflatten_on_host(optimizer_state.weights), fixed)

    def split(self, micro_batch: int) -> TensorFlowStep:
        return TensorFlowStep(
            self.network,
            self.config,
            batch=self.batch,
            micro_batch=micro_batch,
            jit=self.jit,
            state=self._optimizer_state,
        )

    def traces(self) -> int:
        return int(self._compiled.experimental_get_tracing_count())

    def _assign(self, optimizer_state: OptimizerState, weights: Sequence[Any], fixed: Sequence[Any]) -> None:
        variables = [*self._optimizer_state[1:], *self._weights, *self._fixed]
        for variable, value in zip(variables, [*optimizer_state[1:], *weights, *fixed], strict=True):
            variable.assign(value)

    # -- inside the compiled function ---------------------------------------------------------------

    def _step(self, batch: dict[str, Any], step: Any, learning_rate: Any, frozen: Any) -> dict[str, Any]:
        weights, fixed = (
            [tf.convert_to_tensor(variable) for variable in variables]
            for variables in (self._weights, self._fixed)
        )
        state = OptimizerState(
            self.layout.flatten(weights),
            *(tf.convert_to_tensor(value) for value in self._optimizer_state[1:]),
        )
        batch = batch | {"step": tf.fill([self.batch], step)}
        sums, gradient, fixed_after = self._accumulated(weights, fixed, state.scale, batch)
        parts = {name: value / self.batch for name, value in sums.items()}
        loss = sum_in_order(parts)
        new, stats = optimizer.apply_update(
            state, gradient, loss, learning_rate, frozen, self._masks, self.config
        )
        fixed_new = [
            tf.where(stats.applied, after, old) for after, old in zip(fixed_after, fixed, strict=True)
        ]
        weights_new = self.layout.unflatten(new.weights)
        all_computed = tf.group(*new, *weights_new, *fixed_new, loss)  # one barrier: n edges, not n squared
        with tf.control_dependencies([all_computed]):
            self._assign(new, weights_new, fixed_new)
        return {"loss": loss, "parts": parts, "scale": state.scale, **stats._asdict()}

    def _accumulated(
        self, weights: list[Any], fixed: list[Any], scale: Any, batch: dict[str, Any]
    ) -> tuple[Any, Any, list[Any]]:
        count = self.batch // self.micro_batch
        if count == 1:
            return self._gradient(weights, fixed, scale, batch)
        pieces = {
            name: tf.reshape(value, [count, self.micro_batch, *value.shape[1:]])
            for name, value in batch.items()
        }
        first = self._gradient(weights, fixed, scale, {name: value[0] for name, value in pieces.items()})

        def add_piece(index: Any, so_far: Any) -> Any:
            sums, gradient, fixed = so_far
            piece = {name: value[index] for name, value in pieces.items()}
            parts, added, fixed = self._gradient(weights, fixed, scale, piece)
            return index + 1, ({name: sums[name] + parts[name] for name in sums}, gradient + added, fixed)

        _, total = tf.while_loop(
            lambda index, _: index < count, add_piece, (tf.constant(1), first), parallel_iterations=1
        )
        return total

    def _gradient(
        self, weights: list[Any], fixed: list[Any], scale: Any, piece: dict[str, Any]
    ) -> tuple[Any, Any, list[Any]]:
        """Added two by two, as in `sum_in_order`: a tape adds all gradients of one tensor by one `AddN`."""
        copies = [tf.identity(weight) for weight in weights]
        parts, fixed_after = loss_sums(self.network, copies, fixed, piece)
        gradients = tf.gradients(
            sum_in_order(parts) * (scale / self.batch), copies, unconnected_gradients=tf.UnconnectedGradients.ZERO,
            aggregation_method=tf.AggregationMethod.EXPERIMENTAL_TREE,
        )  # fmt: skip
        return (
            parts,
            self.layout.flatten([tf.convert_to_tensor(gradient) for gradient in gradients]),
            fixed_after,
        )


def sum_in_order(parts: Mapping[str, Any]) -> Any:
    """One after the other. `AddN` starts with the input whose buffer is free first, so the last bit of three varies."""
    return functools.reduce(operator.add, [parts[name] for name in sorted(parts)])


def _variables(initial: OptimizerState) -> OptimizerState:
    """Variables for everything but the weights, which are the model's own."""
    return OptimizerState(initial.weights, *(tf.Variable(value, trainable=False) for value in initial[1:]))
