"""The step of the devices of one host on TensorFlow: `tf.distribute.MirroredStrategy` around our own gradients.

Each device computes the gradient of its part of the batch, in micro-batches as ever; the sum is taken by the
strategy, and the update is made once, on the first device, which alone holds the moments. Weights travel to the
others as inputs of the step, so nothing has to be kept equal. Keras' own accumulation raises under this strategy.
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
    """`batch` is that of all devices together, `micro_batch` what one device computes at once."""

    def __init__(
        self, network: Network, rule: OptimizerConfig, *, batch: int, micro_batch: int, devices: list[str],
        state: OptimizerState | None = None,
    ) -> None:  # fmt: skip
        self.strategy, self.devices = tf.distribute.MirroredStrategy(devices=devices), devices
        local = batch // len(devices)
        micro_batch = max(size for size in range(1, local + 1) if local % size == 0 and size <= micro_batch)
        super().__init__(network, rule, batch=local, micro_batch=micro_batch, state=state)

    def __call__(self, batch: Mapping[str, Any], *, step: int, rate: float, held: bool) -> Any:
        used = {name: self._parted(tf.convert_to_tensor(batch[name])) for name in BATCH_KEYS if name in batch}
        return self._compiled(
            used, tf.constant(step, tf.int32), tf.constant(rate, tf.float32), tf.constant(held)
        )

    def split(self, micro_batch: int) -> MirroredStep:
        return MirroredStep(
            self.network, self.rule, batch=self.batch * len(self.devices), micro_batch=micro_batch,
            devices=self.devices, state=self._moving,
        )  # fmt: skip

    def _parted(self, value: Any) -> Any:
        def part(context: Any) -> Any:
            first = context.replica_id_in_sync_group * self.batch
            return value[first : first + self.batch]

        return self.strategy.experimental_distribute_values_from_function(part)

    # -- inside the compiled function ---------------------------------------------------------------

    def _step(self, batch: dict[str, Any], step: Any, rate: Any, held: Any) -> dict[str, Any]:
        weights, fixed = (
            [tf.convert_to_tensor(one) for one in variables] for variables in (self._weights, self._fixed)
        )
        now = OptimizerState(
            self.layout.joined(weights), *(tf.convert_to_tensor(one) for one in self._moving[1:])
        )

        def alone(part: dict[str, Any]) -> Any:
            return self._accumulated(weights, fixed, now.scale, part | {"step": tf.fill([self.batch], step)})

        sums, gradient, fixed_after = self.strategy.run(alone, args=(batch,))
        total = lambda value: self.strategy.reduce(tf.distribute.ReduceOp.SUM, value, axis=None)  # noqa: E731
        images = self.batch * len(self.devices)
        parts = {name: total(value) / images for name, value in sums.items()}
        loss = sum_in_order(parts)
        mean = total(gradient) / len(self.devices)
        new, facts = optimizer.apply_update(now, mean, loss, rate, held, self._masks, self.rule)
        firsts = [self.strategy.experimental_local_results(one)[0] for one in fixed_after]
        fixed_new = [tf.where(facts.applied, after, old) for after, old in zip(firsts, fixed, strict=True)]
        weights_new = self.layout.parted(new.weights)
        with tf.control_dependencies([tf.group(*new, *weights_new, *fixed_new, loss)]):
            self._assign(new, weights_new, fixed_new)
        return {"loss": loss, "parts": parts, "scale": now.scale, **facts._asdict()}


def devices_of_host(count: int) -> list[str]:
    """The first GPUs; on a machine without, the CPU in as many parts. Before TensorFlow has begun to compute."""
    cards = tf.config.list_physical_devices("GPU")
    if cards:
        if len(cards) < count:
            raise TooFewDevices(
                f"hardware.devices = {count}, and this host has {len(cards)} GPUs",
                change=f"hardware.devices = {len(cards)}",
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
