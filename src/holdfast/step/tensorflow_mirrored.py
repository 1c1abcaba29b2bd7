"""The step of the devices of one host on TensorFlow: `tf.distribute.MirroredStrategy` around our own gradients.

Each device computes the gradient of its part of the batch, in micro-batches. The strategy adds them, and the update
is made once, on the first device, which alone has the moments. The others get the weights as inputs of the step, so
no replicas have to be kept equal. Keras' own gradient accumulation raises under this strategy.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import tensorflow as tf

from holdfast.errors import TooFewDevices
from holdfast.step import optimizer
from holdfast.step.network import Network
from holdfast.step.optimizer import OptimizerConfig, OptimizerState
from holdfast.step.step_protocol import BATCH_KEYS
from holdfast.step.tensorflow_step import TensorFlowStep, sum_in_order


class MirroredStep(TensorFlowStep):
    """`batch` is the batch of all devices together, `micro_batch` what one device computes at once."""

    def __init__(
        self, network: Network, config: OptimizerConfig, *, batch: int, micro_batch: int, devices: list[str],
        state: OptimizerState | None = None,
    ) -> None:  # fmt: skip
        self.strategy, self.devices = tf.distribute.MirroredStrategy(devices=devices), devices
        local = batch // len(devices)
        micro_batch = max(size for size in range(1, local + 1) if local % size == 0 and size <= micro_batch)
        super().__init__(network, config, batch=local, micro_batch=micro_batch, state=state)

    def __call__(self, batch: Mapping[str, Any], *, step: int, learning_rate: float, frozen: bool) -> Any:
        used = {
            name: self._distributed(tf.convert_to_tensor(batch[name])) for name in BATCH_KEYS if name in batch
        }
        return self._compiled(
            used, tf.constant(step, tf.int32), tf.constant(learning_rate, tf.float32), tf.constant(frozen)
        )

    def split(self, micro_batch: int) -> MirroredStep:
        return MirroredStep(
            self.network, self.config, batch=self.batch * len(self.devices), micro_batch=micro_batch,
            devices=self.devices, state=self._optimizer_state,
        )  # fmt: skip

    def _distributed(self, value: Any) -> Any:
        def part(context: Any) -> Any:
            first = context.replica_id_in_sync_group * self.batch
            return value[first : first + self.batch]

        return self.strategy.experimental_distribute_values_from_function(part)

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

        def on_one_device(part: dict[str, Any]) -> Any:
            return self._accumulated(
                weights, fixed, state.scale, part | {"step": tf.fill([self.batch], step)}
            )

        sums, gradient, fixed_after = self.strategy.run(on_one_device, args=(batch,))
        total = lambda value: self.strategy.reduce(tf.distribute.ReduceOp.SUM, value, axis=None)  # noqa: E731
        images = self.batch * len(self.devices)
        parts = {name: total(value) / images for name, value in sums.items()}
        loss = sum_in_order(parts)
        mean = total(gradient) / len(self.devices)
        new, stats = optimizer.apply_update(
            state, mean, loss, learning_rate, frozen, self._masks, self.config
        )
        firsts = [self.strategy.experimental_local_results(value)[0] for value in fixed_after]
        fixed_new = [tf.where(stats.applied, after, old) for after, old in zip(firsts, fixed, strict=True)]
        weights_new = self.layout.unflatten(new.weights)
        with tf.control_dependencies([tf.group(*new, *weights_new, *fixed_new, loss)]):
            self._assign(new, weights_new, fixed_new)
        return {"loss": loss, "parts": parts, "scale": state.scale, **stats._asdict()}


def devices_of_host(count: int) -> list[str]:
    """The first GPUs; without any, the CPU in as many parts. To be called before TensorFlow computes anything."""
    gpus = tf.config.list_physical_devices("GPU")
    if gpus:
        if len(gpus) < count:
            raise TooFewDevices(
                f"hardware.devices = {count}, and this host has {len(gpus)} GPUs",
                change=f"hardware.devices = {len(gpus)}",
            )
        return [f"/gpu:{number}" for number in range(count)]
    split_cpu(count)
    return [f"/cpu:{number}" for number in range(count)]


def split_cpu(count: int) -> None:
    if count < 2 or os.path.exists("/dev/nvidia0"):
        return
    cpu = tf.config.list_physical_devices("CPU")[0]
    if len(tf.config.get_logical_device_configuration(cpu) or []) != count:
        tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * count)
