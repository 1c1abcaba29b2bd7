"""The step of several devices on JAX: each device computes the gradient of its part, one all-reduce adds them.

All weights are one long vector, so a step has one all-reduce. It is compiled in two parts, local and collective:
timed separately, they show whether a process is slow or waits for a slow one.
The state is the same on every device; the batch is split by rank, in the order of a single process's batch.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any, Protocol

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as Over

from holdfast.errors import TooFewDevices
from holdfast.journal.step_timing import COLLECTIVE, LOCAL_WORK, StepTimingWriter
from holdfast.step import optimizer
from holdfast.step.jax_step import JaxStep
from holdfast.step.network import Network
from holdfast.step.optimizer import Masks, OptimizerConfig, OptimizerState
from holdfast.step.step_protocol import BATCH_KEYS, Groups, from_groups, host_numbers, to_groups

DEVICE_AXIS = "parts"  # of the mesh


class GroupChannel(Protocol):
    """What the step needs of the group of processes; `train.process_group.ProcessGroup` is one."""

    @property
    def timing(self) -> StepTimingWriter: ...

    def signals(self) -> np.ndarray:
        """What this process sends with the step's all-reduce: its stop signal and the clock."""
        ...

    def update_agreed(self, agreed: np.ndarray) -> None:
        """Receives the maximum over all processes."""
        ...

    def as_rank_0(self, arrays: Any) -> Any:
        """The arrays of rank 0."""
        ...


class DistributedJaxStep(JaxStep):
    """`batch` is the batch of all devices together, `micro_batch` what one device computes at once."""

    place = None  # type: ignore[assignment]  # which device gets which part is decided with the step

    def __init__(
        self, network: Network, config: OptimizerConfig, *, batch: int, micro_batch: int, per_process: int = 1,
        group: GroupChannel | None = None, state: tuple[OptimizerState, list[Any]] | None = None,
    ) -> None:  # fmt: skip
        """`state` is that of an earlier step, the same in all processes. Without it all take that of rank 0."""
        devices = devices_of_processes(per_process)
        self.mesh = Mesh(np.array(devices), (DEVICE_AXIS,))
        self.group, self.devices, self._per_process = group, len(devices), per_process
        local = batch // self.devices
        micro_batch = max(size for size in range(1, local + 1) if local % size == 0 and size <= micro_batch)
        super().__init__(network, config, batch=local, micro_batch=micro_batch, state=state)
        self._replicated, self._sharded = (
            NamedSharding(self.mesh, over) for over in (Over(), Over(DEVICE_AXIS))
        )
        self._masks = jax.tree.map(self._replicate, jax.device_get(self._masks))
        if state is None:
            common = self._as_rank_0(jax.device_get((self._optimizer_state, self._fixed)))
            self._optimizer_state, self._fixed = jax.tree.map(self._replicate, common)
        self._local, self._collective = self._compile()

    def __call__(self, batch: Mapping[str, Any], *, step: int, learning_rate: float, frozen: bool) -> Any:
        used = {name: self._shard(np.asarray(batch[name])) for name in BATCH_KEYS if name in batch}
        before = (self._optimizer_state, self._fixed)
        self._wait_for_group(step)
        local = self._compute_local(before, used, step)
        self._optimizer_state, self._fixed, result = self._collective(
            *before,
            self._masks,
            local,
            self._shard(self._signals()),
            np.float32(learning_rate),
            np.bool_(frozen),
        )
        return result, before

    def _wait_for_group(self, step: int) -> None:
        """Until the step before has been reduced. The time is recorded apart from that of the local part."""
        began = time.monotonic()
        jax.block_until_ready(self._optimizer_state)
        self._note(LOCAL_WORK, step, together_s=time.monotonic() - began, joined=1)

    def _compute_local(self, before: Any, used: dict[str, Any], step: int) -> Any:
        """Waits for it, so that running out of memory shows here, before the others wait for this process."""
        began = time.monotonic()
        local = jax.block_until_ready(self._local(*before, used, np.int32(step)))
        self._note(COLLECTIVE, step, own_s=time.monotonic() - began)
        return local

    def _note(self, state: int, step: int, **more: Any) -> None:
        if self.group is not None:
            self.group.timing.note(state, step, **more)

    def fetch(self, result: Any) -> dict[str, Any]:
        squares = result[0]["squares"]
        light = jax.device_get({name: value for name, value in result[0].items() if name != "squares"})
        if self.group is not None:
            self.group.update_agreed(light["agreed"])
        return host_numbers({**light, "squares": lambda: jax.device_get(squares)}, self.layout, self.names)

    def export(self) -> Groups:
        """From this process's copy. Also updates its Keras model, which makes the predictions."""
        optimizer_state, fixed = jax.device_get((self._optimizer_state, self._fixed))
        values = [*self.layout.unflatten_on_host(optimizer_state.weights), *fixed]
        for variable, value in zip([*self.network.trainable, *self.network.fixed], values, strict=True):
            variable.assign(value)
        return to_groups(optimizer_state, list(fixed), self.layout, self.names, self.others)

    def load(self, groups: Mapping[str, Mapping[str, Any]]) -> None:
        host = self._as_rank_0(from_groups(groups, self.names, self.others))
        self._optimizer_state, self._fixed = jax.tree.map(self._replicate, host)
        self.export()

    def split(self, micro_batch: int) -> JaxStep:
        """For this process only: the collective part does not change, so the others need not agree."""
        return DistributedJaxStep(
            self.network,
            self.config,
            batch=self.batch * self.devices,
            micro_batch=micro_batch,
            per_process=self._per_process,
            group=self.group,
            state=self.state,
        )

    # -- arrays over all devices -----------------------------------------------------------------------

    def _as_rank_0(self, host: Any) -> Any:
        """The state of rank 0, if this one's differs by a bit: replicas that differ would diverge unnoticed."""
        return host if self.group is None else self.group.as_rank_0(host)

    def _replicate(self, value: Any) -> Any:
        host = np.asarray(value)
        return jax.make_array_from_callback(host.shape, self._replicated, lambda index: host[index])

    def _shard(self, value: np.ndarray) -> Any:
        return jax.make_array_from_process_local_data(self._sharded, value)

    def _signals(self) -> np.ndarray:
        here = self.group.signals() if self.group is not None else np.zeros(2, np.float32)
        return np.tile(here, (self._per_process, 1))

    # -- inside the compiled functions ---------------------------------------------------------------

    def _compile(self) -> tuple[Any, Any]:
        def sharded(function: Any, in_specs: Any, out_specs: Any) -> Any:
            return jax.jit(
                jax.shard_map(
                    function, mesh=self.mesh, in_specs=in_specs, out_specs=out_specs, check_vma=False
                )
            )

        same, split = Over(), Over(DEVICE_AXIS)
        local = sharded(self._local_part, (same, same, split, same), (split, split, same))
        arguments = (same, same, same, (split, split, same), split, same, same)
        return local, sharded(self._collective_part, arguments, (same, same, same))

    def _local_part(self, state: OptimizerState, fixed: list[Any], batch: dict[str, Any], step: Any) -> Any:
        self._traces += 1
        sums, gradient, fixed_after = self._accumulated(
            state, fixed, batch | {"step": jnp.full((self.batch,), step)}
        )
        return {name: value[None] for name, value in sums.items()}, gradient[None], fixed_after

    def _collective_part(
        self,
        state: OptimizerState,
        fixed: list[Any],
        masks: Masks,
        local: Any,
        signals: Any,
        learning_rate: Any,
        frozen: Any,
    ) -> Any:
        sums, gradient, fixed_after = local
        gradient = jax.lax.psum(gradient[0], DEVICE_AXIS) / self.devices
        images = self.batch * self.devices
        parts = {name: value / images for name, value in jax.lax.psum(sums, DEVICE_AXIS).items()}
        parts = {name: value[0] for name, value in parts.items()}
        loss = sum(parts[name] for name in sorted(parts))
        new, stats = optimizer.apply_update(state, gradient, loss, learning_rate, frozen, masks, self.config)
        fixed_new = [
            jnp.where(stats.applied, after, old) for after, old in zip(fixed_after, fixed, strict=True)
        ]
        agreed = jax.lax.pmax(signals[0], DEVICE_AXIS)
        result = {"loss": loss, "parts": parts, "scale": state.scale, "agreed": agreed, **stats._asdict()}
        return new, fixed_new, result


def devices_of_processes(per_process: int) -> list[Any]:
    """The first `per_process` devices of each process, in the order of the ranks."""
    by_rank: dict[int, list[Any]] = {}
    for device in jax.devices():
        by_rank.setdefault(device.process_index, []).append(device)
    if any(len(devices) < per_process for devices in by_rank.values()):
        raise TooFewDevices(
            f"hardware.devices = {per_process}, and a process has fewer",
            found=", ".join(f"{len(devices)} in process {rank}" for rank, devices in sorted(by_rank.items())),
            change=f"hardware.devices = {min(len(devices) for devices in by_rank.values())}",
        )
    return [device for rank in sorted(by_rank) for device in by_rank[rank][:per_process]]
