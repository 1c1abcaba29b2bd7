"""The compiled step on TensorFlow: micro-batches in a while loop, one update, assigned all at once.

Every new value is computed before the first variable is assigned, and an assignment allocates nothing: a step
that runs out of memory leaves the state as it was.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import tensorflow as tf

from holdfast.train import update
from holdfast.train.network import Network, loss_sums, names_of
from holdfast.train.step import USED, Groups, from_groups, numbers, to_groups
from holdfast.train.update import Moving, Rule


class TensorFlowStep:
    def __init__(
        self, network: Network, rule: Rule, *, batch: int, micro_batch: int, jit: bool = False,
        state: tuple[Moving, list[Any]] | None = None,
    ) -> None:  # fmt: skip
        self.network, self.rule, self.batch, self.micro_batch, self.jit = (
            network,
            rule,
            batch,
            micro_batch,
            jit,
        )
        self.names, self.others = names_of(network.trainable), names_of(network.fixed)
        self._moving, self._fixed = state or _variables(network, rule)
        self._holdable = network.holdable()
        self._compiled = tf.function(self._step, jit_compile=jit)

    def __call__(self, batch: Mapping[str, Any], *, step: int, rate: float, held: bool) -> Any:
        used = {name: tf.convert_to_tensor(batch[name]) for name in USED if name in batch}
        return self._compiled(
            used, tf.constant(step, tf.int32), tf.constant(rate, tf.float32), tf.constant(held)
        )

    def fetch(self, result: Any) -> dict[str, Any]:
        return numbers(tf.nest.map_structure(lambda value: value.numpy(), result), self.names)

    def undo(self, result: Any) -> None:
        """Nothing to do: an error shows in the call itself, before anything is assigned."""

    def export(self) -> Groups:
        moving = tf.nest.map_structure(lambda variable: variable.numpy().copy(), self._moving)
        return to_groups(
            moving, [variable.numpy().copy() for variable in self._fixed], self.names, self.others
        )

    def load(self, groups: Mapping[str, Mapping[str, Any]]) -> None:
        moving, fixed = from_groups(groups, self.names, self.others)
        tf.nest.map_structure(lambda variable, value: variable.assign(value), self._moving, moving)
        for variable, value in zip(self._fixed, fixed, strict=True):
            variable.assign(value)

    def split(self, micro_batch: int) -> TensorFlowStep:
        return TensorFlowStep(
            self.network, self.rule, batch=self.batch, micro_batch=micro_batch, jit=self.jit,
            state=(self._moving, self._fixed),
        )  # fmt: skip

    def traces(self) -> int:
        return int(self._compiled.experimental_get_tracing_count())

    # -- inside the compiled function ---------------------------------------------------------------

    def _step(self, batch: dict[str, Any], step: Any, rate: Any, held: Any) -> dict[str, Any]:
        now = tf.nest.map_structure(tf.convert_to_tensor, self._moving)
        fixed = [tf.convert_to_tensor(variable) for variable in self._fixed]
        batch = batch | {"step": tf.fill([self.batch], step)}
        sums, gradients, fixed_after = self._accumulated(now, fixed, batch)
        parts = {name: value / self.batch for name, value in sums.items()}
        loss = tf.add_n([parts[name] for name in sorted(parts)])
        holds = [tf.logical_and(held, holdable) for holdable in self._holdable]
        new, facts = update.advance(now, gradients, loss, rate, holds, self.rule)
        fixed_new = [
            tf.where(facts.applied, after, old) for after, old in zip(fixed_after, fixed, strict=True)
        ]
        with tf.control_dependencies([*tf.nest.flatten(new), *fixed_new, loss]):
            tf.nest.map_structure(lambda variable, value: variable.assign(value), self._moving, new)
            for variable, value in zip(self._fixed, fixed_new, strict=True):
                variable.assign(value)
        return {"loss": loss, "parts": parts, "scale": now.scale, **facts._asdict()}

    def _accumulated(
        self, now: Moving, fixed: list[Any], batch: dict[str, Any]
    ) -> tuple[Any, list[Any], list[Any]]:
        count = self.batch // self.micro_batch
        if count == 1:
            return self._gradients(now, fixed, batch)
        pieces = {
            name: tf.reshape(value, [count, self.micro_batch, *value.shape[1:]])
            for name, value in batch.items()
        }
        first = self._gradients(now, fixed, {name: value[0] for name, value in pieces.items()})

        def more(index: Any, so_far: Any) -> Any:
            sums, gradients, fixed = so_far
            piece = {name: value[index] for name, value in pieces.items()}
            parts, added, fixed = self._gradients(now, fixed, piece)
            sums = {name: sums[name] + parts[name] for name in sums}
            return index + 1, (sums, [a + b for a, b in zip(gradients, added, strict=True)], fixed)

        _, total = tf.while_loop(
            lambda index, _: index < count, more, (tf.constant(1), first), parallel_iterations=1
        )
        return total  # type: ignore[no-any-return]

    def _gradients(
        self, now: Moving, fixed: list[Any], piece: dict[str, Any]
    ) -> tuple[Any, list[Any], list[Any]]:
        with tf.GradientTape() as tape:
            tape.watch(now.weights)
            parts, fixed_after = loss_sums(self.network, now.weights, fixed, piece)
            wanted = tf.add_n([parts[name] for name in sorted(parts)]) * (now.scale / self.batch)
        gradients = tape.gradient(wanted, now.weights, unconnected_gradients=tf.UnconnectedGradients.ZERO)
        return parts, [tf.convert_to_tensor(one) for one in gradients], fixed_after


def _variables(network: Network, rule: Rule) -> tuple[Moving, list[Any]]:
    """The model's own variables, and new ones for all else that moves."""
    fresh = update.fresh([tf.convert_to_tensor(v.value) for v in network.trainable], rule)
    made = Moving(*(
        [tf.Variable(one, trainable=False) for one in value] if isinstance(value, list)
        else tf.Variable(value, trainable=False)
        for value in fresh
    ))  # fmt: skip
    return made._replace(weights=[v.value for v in network.trainable]), [v.value for v in network.fixed]
