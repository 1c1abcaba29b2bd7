"""The compiled step on JAX: micro-batches in a scan, one update, the complete new state returned.

Nothing is donated: a result keeps the state before it until it is fetched, so a step that runs out of memory
can be undone. That costs two more copies of the weights and moments while steps run.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from holdfast.step import optimizer
from holdfast.step.network import Network, loss_sums, names_of
from holdfast.step.optimizer import Masks, OptimizerConfig, OptimizerState
from holdfast.step.step_protocol import BATCH_KEYS, Groups, from_groups, host_numbers, to_groups


class JaxStep:
    def __init__(
        self,
        network: Network,
        config: OptimizerConfig,
        *,
        batch: int,
        micro_batch: int,
        state: tuple[OptimizerState, list[Any]] | None = None,
    ) -> None:
        self.network, self.config, self.batch, self.micro_batch = network, config, batch, micro_batch
        self.names, self.others = names_of(network.trainable), names_of(network.fixed)
        self.layout = network.layout()
        self._masks = optimizer.Masks(*(jax.device_put(mask) for mask in self.layout.masks()))
        self._optimizer_state, self._fixed = state or (
            optimizer.initial_state(_flat_weights(network.trainable), config),
            [jnp.asarray(variable.value) for variable in network.fixed],
        )
        self._traces = 0
        self._compiled = jax.jit(self._step)

    def __call__(self, batch: Mapping[str, Any], *, step: int, learning_rate: float, frozen: bool) -> Any:
        before = self.state
        self._optimizer_state, self._fixed, result = self._compiled(
            *self.arguments(batch, step=step, learning_rate=learning_rate, frozen=frozen)
        )
        return result, before

    def place(self, batch: dict[str, Any]) -> dict[str, Any]:
        """The batch with what the step uses on its way to the device, for the threads that fill batches."""
        try:
            return {
                name: jax.device_put(value) if name in BATCH_KEYS else value for name, value in batch.items()
            }
        except jax.errors.JaxRuntimeError:  # no memory: the step copies it itself, and can be made smaller
            return batch

    @property
    def state(self) -> tuple[OptimizerState, list[Any]]:
        return self._optimizer_state, self._fixed

    def arguments(
        self, batch: Mapping[str, Any], *, step: int = 0, learning_rate: float = 0.0, frozen: bool = False
    ) -> tuple[Any, ...]:
        used = {name: _to_device(batch[name]) for name in BATCH_KEYS if name in batch}
        return (*self.state, self._masks, used, np.int32(step), np.float32(learning_rate), np.bool_(frozen))

    def traced(self, batch: Mapping[str, Any], abstract: Callable[[Any], Any]) -> Any:
        """The compiled function traced, not run, for `holdfast plan`. `abstract` replaces values by their shapes."""
        return self._compiled.trace(*abstract(self.arguments(batch)))

    def fetch(self, result: Any) -> dict[str, Any]:
        squares = result[0]["squares"]
        light = jax.device_get({name: value for name, value in result[0].items() if name != "squares"})
        return host_numbers({**light, "squares": lambda: jax.device_get(squares)}, self.layout, self.names)

    def undo(self, result: Any) -> bool:
        """JAX computes asynchronously: an error shows at `fetch`, when the state is already the new one."""
        self._optimizer_state, self._fixed = result[1]
        return True

    def export(self) -> Groups:
        """Also updates the Keras model, which makes the predictions."""
        optimizer_state, fixed = jax.device_get((self._optimizer_state, self._fixed))
        variables = [*self.network.trainable, *self.network.fixed]
        for variable, value in zip(
            variables, [*self.layout.unflatten(self._optimizer_state.weights), *self._fixed], strict=True
        ):
            variable.assign(value)
        return to_groups(optimizer_state, list(fixed), self.layout, self.names, self.others)

    def load(self, groups: Mapping[str, Mapping[str, Any]]) -> None:
        optimizer_state, fixed = from_groups(groups, self.names, self.others)
        self._optimizer_state, self._fixed = jax.tree.map(jax.device_put, (optimizer_state, fixed))
        self.export()

    def split(self, micro_batch: int) -> JaxStep:
        return JaxStep(
            self.network,
            self.config,
            batch=self.batch,
            micro_batch=micro_batch,
            state=(self._optimizer_state, self._fixed),
        )

    def traces(self) -> int:
        return self._traces

    # -- inside the compiled function ---------------------------------------------------------------

    def _step(
        self,
        state: OptimizerState,
        fixed: list[Any],
        masks: Masks,
        batch: dict[str, Any],
        step: Any,
        learning_rate: Any,
        frozen: Any,
    ) -> tuple[OptimizerState, list[Any], dict[str, Any]]:
        self._traces += 1  # runs when traced, not when called
        batch = batch | {"step": jnp.full((self.batch,), step)}
        sums, gradient, fixed_after = self._accumulated(state, fixed, batch)
        parts = {name: value / self.batch for name, value in sums.items()}
        loss = sum(parts[name] for name in sorted(parts))
        new, stats = optimizer.apply_update(state, gradient, loss, learning_rate, frozen, masks, self.config)
        fixed_new = [
            jnp.where(stats.applied, after, old) for after, old in zip(fixed_after, fixed, strict=True)
        ]
        return new, fixed_new, {"loss": loss, "parts": parts, "scale": state.scale, **stats._asdict()}

    def _accumulated(
        self, state: OptimizerState, fixed: list[Any], batch: dict[str, Any]
    ) -> tuple[Any, Any, list[Any]]:
        count = self.batch // self.micro_batch
        if count == 1:
            return self._gradient(state, fixed, batch)
        pieces = {
            name: value.reshape(count, self.micro_batch, *value.shape[1:]) for name, value in batch.items()
        }
        first = self._gradient(state, fixed, {name: value[0] for name, value in pieces.items()})

        def more(so_far: Any, piece: Any) -> tuple[Any, None]:
            sums, gradient, fixed = so_far
            parts, added, fixed = self._gradient(state, fixed, piece)
            return (jax.tree.map(jnp.add, sums, parts), gradient + added, fixed), None

        total, _ = jax.lax.scan(more, first, {name: value[1:] for name, value in pieces.items()})
        return total

    def _gradient(
        self, state: OptimizerState, fixed: list[Any], piece: dict[str, Any]
    ) -> tuple[Any, Any, list[Any]]:
        def wanted(weights: Any) -> tuple[Any, Any]:
            parts, fixed_after = loss_sums(self.network, self.layout.unflatten(weights), fixed, piece)
            return sum(parts[name] for name in sorted(parts)) * (state.scale / self.batch), (
                parts,
                fixed_after,
            )

        (_, (parts, fixed_after)), gradient = jax.value_and_grad(wanted, has_aux=True)(state.weights)
        return parts, gradient, fixed_after


def _flat_weights(variables: Sequence[Any]) -> Any:
    """All weights as one vector, joined on the host: joined on a GPU, the pieces leave a hole behind that no later
    vector fits into, and the GPU's allocator adds it to one of them for the rest of the run."""
    return jax.device_put(np.concatenate([np.asarray(one.value, np.float32).ravel() for one in variables]))


def _to_device(value: Any) -> Any:
    """What is on the device stays there."""
    return value if isinstance(value, jax.Array) else np.asarray(value)
