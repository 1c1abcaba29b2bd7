"""The step of several devices on JAX: each device sums the gradient of its part, one all-reduce joins them.

All weights are one long vector, so a step has one all-reduce. It is compiled in two parts, the own and the
joint one: timed apart, they tell a process that is slow from one that waits for a slow one.
The state is the same on every device; the batch is parted by rank, in the order of one process's batch.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as Over

from holdfast.errors import TooFewDevices
from holdfast.journal.step_timing import COLLECTIVE, LOCAL_WORK
from holdfast.step import optimizer
from holdfast.step.jax_step import JaxStep
from holdfast.step.network import Network
from holdfast.step.optimizer import Masks, OptimizerConfig, OptimizerState
from holdfast.step.step_protocol import BATCH_KEYS, Groups, from_groups, host_numbers, to_groups
from holdfast.train.process_group import ProcessGroup

DEVICE_AXIS = "parts"  # the axis of the mesh


class DistributedJaxStep(JaxStep):
    """`batch` is that of all devices together, `micro_batch` what one device computes at once."""

    def __init__(
        self, network: Network, rule: OptimizerConfig, *, batch: int, micro_batch: int, per_process: int = 1,
        peers: ProcessGroup | None = None, state: tuple[OptimizerState, list[Any]] | None = None,
    ) -> None:  # fmt: skip
        """`state` is that of a step before this one, the same in all processes. Without it they agree on one."""
        chosen = devices_of_processes(per_process)
        self.mesh = Mesh(np.array(chosen), (DEVICE_AXIS,))
        self.peers, self.devices, self._per_process = peers, len(chosen), per_process
        local = batch // self.devices
        micro_batch = max(size for size in range(1, local + 1) if local % size == 0 and size <= micro_batch)
        super().__init__(network, rule, batch=local, micro_batch=micro_batch, state=state)
        self._same, self._parted = (NamedSharding(self.mesh, over) for over in (Over(), Over(DEVICE_AXIS)))
        self._masks = jax.tree.map(self._everywhere, jax.device_get(self._masks))
        if state is None:
            agreed = self._as_first(jax.device_get((self._moving, self._fixed)))
            self._moving, self._fixed = jax.tree.map(self._everywhere, agreed)
        self._own, self._joint = self._compile()

    def __call__(self, batch: Mapping[str, Any], *, step: int, rate: float, held: bool) -> Any:
        used = {name: self._part(np.asarray(batch[name])) for name in BATCH_KEYS if name in batch}
        before = (self._moving, self._fixed)
        self._await_others(step)
        own = self._computed_alone(before, used, step)
        self._moving, self._fixed, result = self._joint(
            *before, self._masks, own, self._part(self._signals()), np.float32(rate), np.bool_(held)
        )
        return result, before

    def _await_others(self, step: int) -> None:
        """Until the step before is joined. The time is told apart from the own part's."""
        began = time.monotonic()
        jax.block_until_ready(self._moving)
        self._note(LOCAL_WORK, step, together_s=time.monotonic() - began, joined=1)

    def _computed_alone(self, before: Any, used: dict[str, Any], step: int) -> Any:
        """Waits for it, so that memory which does not suffice shows here, where nobody waits for this process yet."""
        began = time.monotonic()
        own = jax.block_until_ready(self._own(*before, used, np.int32(step)))
        self._note(COLLECTIVE, step, own_s=time.monotonic() - began)
        return own

    def _note(self, state: int, step: int, **more: Any) -> None:
        if self.peers is not None:
            self.peers.pace.note(state, step, **more)

    def fetch(self, result: Any) -> dict[str, Any]:
        squares = result[0]["squares"]
        light = jax.device_get({name: value for name, value in result[0].items() if name != "squares"})
        if self.peers is not None:
            self.peers.heard(light["agreed"])
        return host_numbers({**light, "squares": lambda: jax.device_get(squares)}, self.layout, self.names)

    def export(self) -> Groups:
        """From this process's own copy. The Keras model, which predicts here, is brought up to date alone."""
        moving, fixed = jax.device_get((self._moving, self._fixed))
        values = [*self.layout.parted_on_host(moving.weights), *fixed]
        for variable, value in zip([*self.network.trainable, *self.network.fixed], values, strict=True):
            variable.assign(value)
        return to_groups(moving, list(fixed), self.layout, self.names, self.others)

    def load(self, groups: Mapping[str, Mapping[str, Any]]) -> None:
        host = self._as_first(from_groups(groups, self.names, self.others))
        self._moving, self._fixed = jax.tree.map(self._everywhere, host)
        self.export()

    def split(self, micro_batch: int) -> JaxStep:
        """A matter of this process alone: the joint part stays as it is, and nobody else is asked."""
        return DistributedJaxStep(
            self.network,
            self.rule,
            batch=self.batch * self.devices,
            micro_batch=micro_batch,
            per_process=self._per_process,
            peers=self.peers,
            state=self.state,
        )

    # -- arrays over all devices -----------------------------------------------------------------------

    def _as_first(self, host: Any) -> Any:
        """The state of rank 0, where this one's differs by a bit: replicas that differ would drift apart unseen."""
        return host if self.peers is None else self.peers.as_first(host)

    def _everywhere(self, value: Any) -> Any:
        host = np.asarray(value)
        return jax.make_array_from_callback(host.shape, self._same, lambda index: host[index])

    def _part(self, value: np.ndarray) -> Any:
        return jax.make_array_from_process_local_data(self._parted, value)

    def _signals(self) -> np.ndarray:
        here = self.peers.signals() if self.peers is not None else np.zeros(2, np.float32)
        return np.tile(here, (self._per_process, 1))

    # -- inside the compiled functions ---------------------------------------------------------------

    def _compile(self) -> tuple[Any, Any]:
        def mapped(what: Any, given: Any, made: Any) -> Any:
            return jax.jit(
                jax.shard_map(what, mesh=self.mesh, in_specs=given, out_specs=made, check_vma=False)
            )

        same, parted = Over(), Over(DEVICE_AXIS)
        own = mapped(self._own_part, (same, same, parted, same), (parted, parted, same))
        given = (same, same, same, (parted, parted, same), parted, same, same)
        return own, mapped(self._joint_part, given, (same, same, same))

    def _own_part(self, now: OptimizerState, fixed: list[Any], batch: dict[str, Any], step: Any) -> Any:
        self._traces += 1
        sums, gradient, fixed_after = self._accumulated(
            now, fixed, batch | {"step": jnp.full((self.batch,), step)}
        )
        return {name: value[None] for name, value in sums.items()}, gradient[None], fixed_after

    def _joint_part(
        self,
        now: OptimizerState,
        fixed: list[Any],
        masks: Masks,
        own: Any,
        signals: Any,
        rate: Any,
        held: Any,
    ) -> Any:
        sums, gradient, fixed_after = own
        gradient = jax.lax.psum(gradient[0], DEVICE_AXIS) / self.devices
        images = self.batch * self.devices
        parts = {name: value / images for name, value in jax.lax.psum(sums, DEVICE_AXIS).items()}
        parts = {name: value[0] for name, value in parts.items()}
        loss = sum(parts[name] for name in sorted(parts))
        new, facts = optimizer.apply_update(now, gradient, loss, rate, held, masks, self.rule)
        fixed_new = [
            jnp.where(facts.applied, after, old) for after, old in zip(fixed_after, fixed, strict=True)
        ]
        agreed = jax.lax.pmax(signals[0], DEVICE_AXIS)
        result = {"loss": loss, "parts": parts, "scale": now.scale, "agreed": agreed, **facts._asdict()}
        return new, fixed_new, result


def devices_of_processes(per_process: int) -> list[Any]:
    """The first so many devices of each process, in the order of the ranks."""
    by_rank: dict[int, list[Any]] = {}
    for device in jax.devices():
        by_rank.setdefault(device.process_index, []).append(device)
    if any(len(found) < per_process for found in by_rank.values()):
        raise TooFewDevices(
            f"hardware.devices = {per_process}, and a process has fewer",
            found=", ".join(f"{len(found)} in process {rank}" for rank, found in sorted(by_rank.items())),
            change=f"hardware.devices = {min(len(found) for found in by_rank.values())}",
        )
    return [device for rank in sorted(by_rank) for device in by_rank[rank][:per_process]]
