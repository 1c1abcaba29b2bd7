"""The other processes of a run: joining them on JAX, and agreeing with them.

In a group nobody may decide alone: a process that stops, validates or saves at another step than the rest would
leave them waiting for ever. So a wish to stop and the clock travel with every step (`step_peers`), and what comes
back is the same for all; everything else in the loop follows from numbers that are the same for all anyway.
"""

from __future__ import annotations

import functools
import hashlib
import io
import json
import os
import socket
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from holdfast.journal import events as ev
from holdfast.journal.group_membership import GroupMembership, die_with_parent
from holdfast.journal.step_timing import TIMING_FILE as PACE_FILE
from holdfast.journal.step_timing import StepTimingWriter
from holdfast.train.checkpoint import checkpoint_files, resume
from holdfast.train.checkpoint.checkpoint_files import CorruptCheckpoint, Snapshot
from holdfast.train.observers.observer import Observers

SIGNALS = ("", "SIGHUP", "SIGINT", "SIGTERM")  # a larger one wins
JOIN_TIMEOUT_S = 120  # that the engine's processes may take to meet, once all supervisors are there
HEARTBEAT_S = 100  # JAX's own; ours is faster, and JAX ends a process without an answer when its own runs out
AGENT_LOST = 75  # EX_TEMPFAIL of sysexits.h: it is not this process that is at fault


class ProcessGroup:
    """This process among `count`. Numbers from `exchange` are the same in all of them."""

    def __init__(self, place: GroupMembership, asked: Callable[[], str], folder: Path) -> None:
        self.rank, self.count, self.group = place.rank, place.count, place.group
        self._asked, self.pace = asked, StepTimingWriter(folder / PACE_FILE)
        self._began = time.monotonic()
        self._agreed_signal, self._agreed_clock = "", 0.0

    @property
    def first(self) -> bool:
        """Whether this one writes what there is once: checkpoints, results, the model."""
        return self.rank == 0

    # -- what travels with a step ------------------------------------------------------------------

    def signals(self) -> np.ndarray:
        """This process's wish to stop, and the time, which is that of rank 0."""
        clock = time.monotonic() - self._began if self.first else 0.0
        return np.array([SIGNALS.index(self._asked()), clock], np.float32)

    def heard(self, agreed: np.ndarray) -> None:
        self._agreed_signal = self._agreed_signal or SIGNALS[int(agreed[0])]
        self._agreed_clock = max(self._agreed_clock, float(agreed[1]))

    def stop_asked(self) -> str:
        return self._agreed_signal

    def clock(self) -> float:
        return self._agreed_clock

    # -- between steps -----------------------------------------------------------------------------

    def exchange(self, values: Any) -> np.ndarray:
        """Everybody's array of the same shape, by rank: (count, …). All must call it."""
        from jax.experimental import multihost_utils

        return np.asarray(multihost_utils.process_allgather(np.asarray(values))).reshape(
            self.count, *np.shape(values)
        )

    def stop_now(self) -> bool:
        """Agrees on whether to stop without a step, as in a validation."""
        self.heard(self.exchange(self.signals()).max(axis=0))
        return bool(self._agreed_signal)

    def gathered(self, columns: tuple[np.ndarray, ...]) -> tuple[np.ndarray, ...]:
        """Rows of all processes, one after the other; each may have another number of them."""
        rows = self.exchange(np.array([len(columns[0])], np.int32))[:, 0]
        whole = []
        for column in columns:
            padded = np.zeros((int(rows.max()), *column.shape[1:]), column.dtype)
            padded[: len(column)] = column
            as_bytes = np.frombuffer(padded.tobytes(), np.uint8)  # JAX would make 64 bits 32
            parts = self.exchange(as_bytes)
            whole += [
                np.concatenate(
                    [
                        np.frombuffer(part.tobytes(), column.dtype).reshape(padded.shape)[:count]
                        for part, count in zip(parts, rows, strict=True)
                    ]
                )
            ]
        return tuple(whole)

    def as_first(self, arrays: Any) -> Any:
        """A tree of arrays, as rank 0 has it: compared by digest, and sent only where one differs."""
        import jax
        from jax.experimental import multihost_utils

        leaves, shape = jax.tree.flatten(arrays)
        total = hashlib.sha256(b"".join(np.ascontiguousarray(leaf).tobytes() for leaf in leaves)).digest()
        digests = self.exchange(np.frombuffer(total, np.uint8))
        if (digests == digests[0]).all():
            return arrays
        print(
            f"holdfast: the state of process {self.rank} or another differs from rank 0's, which is sent to all"
        )
        sent = [np.asarray(multihost_utils.broadcast_one_to_all(leaf)) for leaf in leaves]
        return jax.tree.unflatten(
            shape, [one.astype(old.dtype) for one, old in zip(sent, leaves, strict=True)]
        )

    # -- checkpoints -------------------------------------------------------------------------------

    def newest(self, folder: Path, witnesses: Observers) -> Snapshot | None:
        """The newest checkpoint that all have; where they share none, rank 0's is sent to the others."""
        own = resume.newest_checkpoint(folder, witnesses)
        steps = self.exchange(np.array([own.step if own else -1], np.int32))[:, 0]
        if (steps == steps[0]).all():
            return own
        common = int(steps.min())
        mine = _read_or_none(folder, common) if own is None or own.step != common else own
        if self.exchange(np.array([mine is not None], np.int32)).all():
            witnesses.say(_agreed(common, steps))
            return mine
        if steps[0] < 0:
            witnesses.say(_agreed(None, steps))
            return None
        witnesses.say(_agreed(int(steps[0]), steps, sent=True))
        return self._sent_by_first(own)

    def _sent_by_first(self, own: Snapshot | None) -> Snapshot:
        packed = np.frombuffer(serialize_snapshot(own) if self.first and own else b"", np.uint8)
        size = int(self.exchange(np.array([len(packed)], np.int32))[0, 0])
        from jax.experimental import multihost_utils

        padded = packed if self.first else np.zeros(size, np.uint8)
        return deserialize_snapshot(np.asarray(multihost_utils.broadcast_one_to_all(padded)).tobytes())


def join_group(place: GroupMembership, *, devices: int) -> None:
    """Meets the others. Before anything of JAX is computed, or it would have taken its devices alone."""
    import jax

    die_with_parent()
    jax.config.update("jax_cpu_collectives_implementation", "gloo")
    _set_gloo_address(place.coordinator)
    split_cpu(devices)
    jax.distributed.initialize(
        place.coordinator,
        place.count,
        place.rank,
        initialization_timeout=JOIN_TIMEOUT_S,
        heartbeat_timeout_seconds=HEARTBEAT_S,
        coordinator_bind_address=bind_address(place.coordinator) if place.rank == 0 else None,
    )
    _connect_all()


def bind_address(coordinator: str) -> str:
    """Where JAX's coordinator listens. It asks nobody for a password, so a group on one machine keeps it there."""
    host, _, port = coordinator.rpartition(":")
    return f"127.0.0.1:{port}" if host in ("127.0.0.1", "localhost") else f"0.0.0.0:{port}"


def _connect_all() -> None:
    """A first exchange while all have just met: gloo gives them 30 s to connect, and reading data may take longer."""
    from jax.experimental import multihost_utils

    multihost_utils.process_allgather(np.zeros(1, np.int32))


def _set_gloo_address(coordinator: str) -> None:
    """gloo tells the others the address that this host's own name stands for, which is 127.0.1.1 on many.

    JAX hands nothing else on, so the address by which the coordinator is reached is put in where it makes gloo.
    """
    try:
        from jax._src.lib import _jax  # type: ignore[attr-defined]

        made = functools.partial(_jax.make_gloo_tcp_collectives, hostname=address_towards(coordinator))
        _jax.make_gloo_tcp_collectives = made
    except (ImportError, AttributeError, OSError):  # another JAX may do without
        pass


def address_towards(coordinator: str) -> str:
    """Of the interface by which the other host is reached; nothing is sent."""
    host, _, port = coordinator.rpartition(":")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect((host, int(port)))
        return str(probe.getsockname()[0])


def split_cpu(devices: int) -> None:
    """On a machine without a GPU, several devices are parts of the CPU: slower than one, and good for a trial."""
    import jax

    if devices > 1 and not os.path.exists("/dev/nvidia0"):
        jax.config.update("jax_num_cpu_devices", devices)


def is_agent_lost(error: BaseException) -> bool:
    """Whether this is the error of a collective operation whose other side has gone."""
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
    return ev.CheckpointAgreed(step=step, sent=sent, newest_by_rank=[int(one) for one in newest])
