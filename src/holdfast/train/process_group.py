"""The process group of a run on JAX: joining it, and agreeing with the other processes.

No process may decide alone: one that stops, validates or saves at another step than the rest would leave them waiting
forever. So the stop signal and the clock travel with every step (`step.jax_distributed`), and the result is the same
for all. Everything else in the loop follows from numbers that are the same for all anyway.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import io
import json
import os
import signal
import socket
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from holdfast.journal import events as ev
from holdfast.journal.group_membership import GroupMembership, die_with_parent
from holdfast.journal.step_timing import TIMING_FILE, StepTimingWriter
from holdfast.train.checkpoint import checkpoint_files, resume
from holdfast.train.checkpoint.checkpoint_files import CorruptCheckpoint, Snapshot

SIGNALS = ("", "SIGHUP", "SIGINT", "SIGTERM")  # a larger one wins
JOIN_TIMEOUT_S = 120  # for JAX's processes to connect, once all supervisors are there
HEARTBEAT_S = 100  # JAX's own timeout; ours is shorter, and JAX kills a process that misses its own
AGENT_LOST = 75  # EX_TEMPFAIL of sysexits.h: another process failed


class ProcessGroup:
    """This process is `rank` of `count`. The results of `exchange` are the same in all of them."""

    def __init__(self, membership: GroupMembership, stop_signal: Callable[[], str], folder: Path) -> None:
        self.rank, self.count, self.folder = membership.rank, membership.count, membership.group
        self._own_stop_signal, self.timing = stop_signal, StepTimingWriter(folder / TIMING_FILE)
        self._began = time.monotonic()
        self._agreed_signal, self._agreed_clock = "", 0.0

    @property
    def is_first(self) -> bool:
        """Whether this process writes what a run has once: checkpoints, results, the model."""
        return self.rank == 0

    # -- what travels with a step ------------------------------------------------------------------

    def signals(self) -> np.ndarray:
        """This process's stop signal, and the clock, which is that of rank 0."""
        clock = time.monotonic() - self._began if self.is_first else 0.0
        return np.array([SIGNALS.index(self._own_stop_signal()), clock], np.float32)

    def update_agreed(self, agreed: np.ndarray) -> None:
        self._agreed_signal = self._agreed_signal or SIGNALS[int(agreed[0])]
        self._agreed_clock = max(self._agreed_clock, float(agreed[1]))

    def stop_signal(self) -> str:
        return self._agreed_signal

    def clock(self) -> float:
        return self._agreed_clock

    # -- between steps -----------------------------------------------------------------------------

    def exchange(self, values: Any) -> np.ndarray:
        """The arrays of all processes, by rank: (count, …). All must call it, with arrays of one shape."""
        from jax.experimental import multihost_utils

        return np.asarray(multihost_utils.process_allgather(np.asarray(values))).reshape(
            self.count, *np.shape(values)
        )

    def agree_to_stop(self) -> bool:
        """Agrees on whether to stop, between steps, as in a validation."""
        self.update_agreed(self.exchange(self.signals()).max(axis=0))
        return bool(self._agreed_signal)

    def gather(self, columns: tuple[np.ndarray, ...]) -> tuple[np.ndarray, ...]:
        """The rows of all processes, one after the other. Each may have another number of rows."""
        rows = self.exchange(np.array([len(columns[0])], np.int32))[:, 0]
        gathered = []
        for column in columns:
            padded = np.zeros((int(rows.max()), *column.shape[1:]), column.dtype)
            padded[: len(column)] = column
            as_bytes = np.frombuffer(padded.tobytes(), np.uint8)  # JAX would truncate 64 bits to 32
            parts = self.exchange(as_bytes)
            gathered += [
                np.concatenate(
                    [
                        np.frombuffer(part.tobytes(), column.dtype).reshape(padded.shape)[:count]
                        for part, count in zip(parts, rows, strict=True)
                    ]
                )
            ]
        return tuple(gathered)

    def as_rank_0(self, arrays: Any) -> Any:
        """A tree of arrays, as on rank 0: compared by digest, and sent only when one differs."""
        import jax
        from jax.experimental import multihost_utils

        leaves, shape = jax.tree.flatten(arrays)
        total = hashlib.sha256(b"".join(np.ascontiguousarray(leaf).tobytes() for leaf in leaves)).digest()
        digests = self.exchange(np.frombuffer(total, np.uint8))
        if (digests == digests[0]).all():
            return arrays
        print(
            f"holdfast: the state of process {self.rank} or another differs from that of rank 0, which is sent to all"
        )
        sent = [np.asarray(multihost_utils.broadcast_one_to_all(leaf)) for leaf in leaves]
        return jax.tree.unflatten(
            shape, [new.astype(old.dtype) for new, old in zip(sent, leaves, strict=True)]
        )

    # -- checkpoints -------------------------------------------------------------------------------

    def newest_checkpoint(self, folder: Path, notify: Callable[[ev.Event], None]) -> Snapshot | None:
        """The newest checkpoint that all have; when they share none, that of rank 0 is sent to the others."""
        own = resume.newest_checkpoint(folder, notify)
        steps = self.exchange(np.array([own.step if own else -1], np.int32))[:, 0]
        if (steps == steps[0]).all():
            return own
        common = int(steps.min())
        shared = own if own is not None and own.step == common else _read_or_none(folder, common)
        if self.exchange(np.array([shared is not None], np.int32)).all():
            notify(_agreed(common, steps))
            return shared
        if steps[0] < 0:
            notify(_agreed(None, steps))
            return None
        notify(_agreed(int(steps[0]), steps, sent=True))
        return self._receive_from_rank_0(own)

    def _receive_from_rank_0(self, own: Snapshot | None) -> Snapshot:
        packed = np.frombuffer(serialize_snapshot(own) if self.is_first and own else b"", np.uint8)
        size = int(self.exchange(np.array([len(packed)], np.int32))[0, 0])
        from jax.experimental import multihost_utils

        padded = packed if self.is_first else np.zeros(size, np.uint8)
        return deserialize_snapshot(np.asarray(multihost_utils.broadcast_one_to_all(padded)).tobytes())


def join_group(membership: GroupMembership, *, devices: int) -> None:
    """Connects to the others. To be called before JAX computes anything, or it would initialise its devices alone."""
    import jax

    die_with_parent()
    jax.config.update("jax_cpu_collectives_implementation", "gloo")
    _set_gloo_address(membership.coordinator)
    split_cpu(devices)
    with contextlib.suppress(AttributeError):  # an older JAX has no such option
        jax.config.update("jax_enable_preemption_service", False)
    on_sigterm = signal.getsignal(signal.SIGTERM)
    jax.distributed.initialize(
        membership.coordinator,
        membership.count,
        membership.rank,
        initialization_timeout=JOIN_TIMEOUT_S,
        heartbeat_timeout_seconds=HEARTBEAT_S,
        coordinator_bind_address=bind_address(membership.coordinator) if membership.rank == 0 else None,
    )
    signal.signal(signal.SIGTERM, on_sigterm)  # an older JAX has replaced it from C++, and would only note it
    _connect_all()


def bind_address(coordinator: str) -> str:
    """Where JAX's coordinator listens. It has no authentication, so a group on one machine binds to localhost."""
    host, _, port = coordinator.rpartition(":")
    return f"127.0.0.1:{port}" if host in ("127.0.0.1", "localhost") else f"0.0.0.0:{port}"


def _connect_all() -> None:
    """A first exchange right after joining: gloo gives them 30 s to connect, and reading data may take longer."""
    from jax.experimental import multihost_utils

    multihost_utils.process_allgather(np.zeros(1, np.int32))


def _set_gloo_address(coordinator: str) -> None:
    """gloo announces the address of this host's own name, which is 127.0.1.1 on many machines.

    JAX passes no other address on, so that of the interface towards the coordinator is set where it creates gloo.
    """
    try:
        from jax._src.lib import _jax  # type: ignore[attr-defined]

        create = functools.partial(_jax.make_gloo_tcp_collectives, hostname=address_towards(coordinator))
        _jax.make_gloo_tcp_collectives = create
    except (ImportError, AttributeError, OSError):  # another version of JAX may not need it
        pass


def address_towards(coordinator: str) -> str:
    """The address of the interface by which the other host is reached. Nothing is sent."""
    host, _, port = coordinator.rpartition(":")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect((host, int(port)))
        return str(probe.getsockname()[0])


def split_cpu(devices: int) -> None:
    """On a machine without a GPU, several devices are parts of the CPU: slower than one, for trying things out."""
    import jax

    if devices > 1 and not os.path.exists("/dev/nvidia0"):
        jax.config.update("jax_num_cpu_devices", devices)


def is_agent_lost(error: BaseException) -> bool:
    """Whether this is the error of a collective operation after another process has died."""
    signs = ("Gloo", "gloo", "Connection closed by peer", "coordination service", "Connection reset by peer")
    return any(sign in str(error) for sign in signs)


def serialize_snapshot(snapshot: Snapshot) -> bytes:
    arrays = {
        f"{group}\n{name}": array for group, named in snapshot.groups.items() for name, array in named.items()
    }
    head = json.dumps({"step": snapshot.step, "meta": dict(snapshot.meta), "names": list(arrays)})
    out = io.BytesIO()
    numbered = {str(number): array for number, array in enumerate(arrays.values())}
    np.savez(out, head=np.frombuffer(head.encode(), np.uint8), **numbered)  # type: ignore[arg-type]
    return out.getvalue()


def deserialize_snapshot(packed: bytes) -> Snapshot:
    with np.load(io.BytesIO(packed), allow_pickle=False) as file:
        head = json.loads(file["head"].tobytes())
        groups: dict[str, dict[str, Any]] = {}
        for number, full in enumerate(head["names"]):
            group, name = full.split("\n", 1)
            groups.setdefault(group, {})[name] = file[str(number)]
    return Snapshot(head["step"], groups, head["meta"])


def _read_or_none(folder: Path, step: int) -> Snapshot | None:
    try:
        return checkpoint_files.read(folder / f"step-{step}") if step >= 0 else None
    except CorruptCheckpoint:
        return None


def _agreed(step: int | None, newest: np.ndarray, *, sent: bool = False) -> ev.CheckpointAgreed:
    return ev.CheckpointAgreed(step=step, sent=sent, newest_by_rank=[int(step) for step in newest])
