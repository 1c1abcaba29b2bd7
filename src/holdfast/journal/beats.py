"""The heartbeat ring: a memory-mapped file that a child writes in about a microsecond.

The pages belong to the kernel, so what was written survives a SIGKILL. There is one writer, the training process;
several of its threads may write at the same time. Any process may read meanwhile.

A record starts and ends with its sequence number. The writer stores the first number first and the last one last; the
reader loads them in the opposite order, and accepts a record only when both agree. That needs stores to become visible
in order, which x86 guarantees. Elsewhere a half-written record is still noticed unless both numbers and the middle are
reordered at once, and the next poll reads it correctly.

A beat costs a microsecond, and ten or more when a step has just evicted the CPU's caches. Between the beats of short
steps the writer therefore only updates the newest one: phase, steps and time, four words next to the header that name
the beat that they belong to.
"""

from __future__ import annotations

import enum
import itertools
import math
import mmap
import os
import struct
import sys
import time
from pathlib import Path
from typing import NamedTuple

from .descriptor import same_file


class Phase(enum.IntEnum):
    """What a process is doing. The limit of silence belongs to the phase."""

    START = 0  # the interpreter runs, nothing of a framework yet
    IMPORT = 1  # a framework is being imported
    BUILD = 2  # between import and training: the user's own set-up
    COMPILE = 3  # tracing or compiling; also the first step, which contains both
    DATA_WAIT = 4  # waiting for the next batch, where that can be distinguished from the step
    STEP = 5
    VALIDATION = 6
    CALLBACK = 7  # inside a callback; `callback_index` says which one
    SAVE = 8
    BETWEEN = 9  # inside fit, between epochs or batches, none of the above
    AFTER = 10  # training has ended, the script continues
    EXIT = 11  # the interpreter is shutting down
    FILL = 12  # waiting for the first batch of an epoch: shuffle buffers fill, files are opened
    PREDICT = 13

    @property
    def label(self) -> str:
        return self.name.lower().replace("_", "-")


class Beat(NamedTuple):
    sequence: int
    mono: float  # seconds, the machine's monotonic clock
    phase: Phase
    attempt: int
    pid: int
    callback_index: int  # number of the callback in FitStarted.callbacks plus 1, or 0
    fit: int
    epoch: int
    step: int  # training steps done by the process, all fits together
    train_batches: int  # done in this epoch
    test_batches: int  # done in this validation
    data_wait_ns: int  # spent waiting for data, in all
    compute_ns: int  # spent in steps, in all
    loss: float  # NaN while unknown; see `has_loss`
    has_loss: bool
    step_ns: int  # how long the last step took, start to start


_MAGIC = b"HFBEATS1"
_HEADER = struct.Struct("<8sIIQ")  # magic, slots, record size, newest sequence number
_FRONT = struct.Struct("<Q")
_RECORD = struct.Struct("<QdBBHIIIIQIIQQdQQ")
_HEADER_SIZE = 64
_RECORD_SIZE = 128
_SLOTS = 4096
_BACK_OFFSET = _RECORD.size - 8  # the sequence number again, last
_NEWEST_OFFSET = 16
_COUNTERS = struct.Struct("<QQQQ")  # number of the beat; phase and callback index; steps since; nanoseconds
_COUNTERS_OFFSET = 24

SIZE = _HEADER_SIZE + _RECORD_SIZE * _SLOTS


class BeatWriter:
    """Writes beats. Continues from the newest number when the file exists already (a restart)."""

    def __init__(self, path: Path, *, attempt: int = 1) -> None:
        self._map = _create(path)
        newest = _HEADER.unpack_from(self._map, 0)[3]
        self._count = itertools.count(newest + 1)
        self._attempt = attempt
        self._pid = os.getpid()
        self._newest = newest
        self._counters = memoryview(self._map)[_COUNTERS_OFFSET : _COUNTERS_OFFSET + _COUNTERS.size].cast("Q")

    def write(
        self,
        phase: int,
        callback_index: int = 0,
        fit: int = 0,
        epoch: int = 0,
        step: int = 0,
        train_batches: int = 0,
        test_batches: int = 0,
        data_wait_ns: int = 0,
        compute_ns: int = 0,
        loss: float | None = None,
        step_ns: int = 0,
        mono: float | None = None,
    ) -> None:
        sequence = next(self._count)
        at = _HEADER_SIZE + (sequence % _SLOTS) * _RECORD_SIZE
        _RECORD.pack_into(
            self._map, at, sequence, time.monotonic() if mono is None else mono, phase, loss is not None,
            self._attempt & 0xFFFF, self._pid, callback_index, fit, epoch, step, train_batches, test_batches,
            data_wait_ns, compute_ns, 0.0 if loss is None else loss, step_ns, sequence,
        )  # fmt: skip
        _FRONT.pack_into(self._map, _NEWEST_OFFSET, sequence)
        self._newest = sequence

    def update_counters(self, phase: int, callback_index: int, steps: int, now_ns: int) -> None:
        """The newest beat, `steps` later and in this phase."""
        counters = self._counters
        counters[0] = 0  # while they are written, they belong to no beat
        counters[1] = phase | callback_index << 8
        counters[2] = steps
        counters[3] = now_ns
        counters[0] = self._newest

    def update_phase(self, phase: int) -> None:
        """The newest beat in another phase, after `update_counters`: one store."""
        self._counters[1] = phase

    def close(self) -> None:
        """No more beats. The map must not be closed, see `_mapped`."""
        self._counters.release()


class BeatReader:
    """Reads beats of another process. The file may be missing, short or stale."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._map: mmap.mmap | None = None

    def newest(self) -> Beat | None:
        ring = self._open()
        if ring is None:
            return None
        number = _FRONT.unpack_from(ring, _NEWEST_OFFSET)[0]
        # Where the newest is half-written, the one before is used.
        for sequence in range(number, max(0, number - 8), -1):
            beat = _record(ring, sequence)
            if beat is not None:
                return _with_newer_counters(ring, beat)
        return None

    def beats_since(self, sequence: int) -> list[Beat]:
        """Beats after `sequence` that are still in the ring, oldest first."""
        ring = self._open()
        if ring is None:
            return []
        newest = _FRONT.unpack_from(ring, _NEWEST_OFFSET)[0]
        oldest = max(sequence + 1, newest - _SLOTS + 1, 1)
        records = (_record(ring, number) for number in range(oldest, newest + 1))
        beats = [beat for beat in records if beat is not None]
        return [*beats[:-1], _with_newer_counters(ring, beats[-1])] if beats else beats

    def close(self) -> None:
        if self._map is not None:
            self._map.close()
            self._map = None

    def _open(self) -> mmap.mmap | None:
        if self._map is None:
            from ..regular_file import open_regular  # the writer's side has no use for it

            try:
                with open_regular(self._path, links=False) as file:
                    if os.fstat(file.fileno()).st_size < SIZE:
                        return None
                    ring = mmap.mmap(file.fileno(), SIZE, access=mmap.ACCESS_READ)
            except OSError:
                return None
            magic, slots, size, _ = _HEADER.unpack_from(ring, 0)
            if (magic, slots, size) != (_MAGIC, _SLOTS, _RECORD_SIZE):
                ring.close()
                return None
            self._map = ring
        return self._map


def _record(ring: mmap.mmap, sequence: int) -> Beat | None:
    at = _HEADER_SIZE + (sequence % _SLOTS) * _RECORD_SIZE
    back = _FRONT.unpack_from(ring, at + _BACK_OFFSET)[0]
    if back != sequence:
        return None
    values = _RECORD.unpack_from(ring, at)
    front = _FRONT.unpack_from(ring, at)[0]
    if front != sequence:
        return None
    (_, mono, phase, has_loss, attempt, pid, callback_index, fit, epoch, step, train_batches, test_batches,
     data_wait_ns, compute_ns, loss, step_ns, _) = values  # fmt: skip
    if not math.isfinite(mono):
        return None
    return Beat(
        sequence=sequence, mono=mono, phase=_phase(phase), attempt=attempt, pid=pid, fit=fit, epoch=epoch, step=step,
        callback_index=callback_index, train_batches=train_batches, test_batches=test_batches,
        data_wait_ns=data_wait_ns, compute_ns=compute_ns, loss=loss if has_loss else float("nan"),
        has_loss=bool(has_loss), step_ns=step_ns,
    )  # fmt: skip


def _with_newer_counters(ring: mmap.mmap, beat: Beat) -> Beat:
    sequence, packed, steps, mono_ns = _COUNTERS.unpack_from(ring, _COUNTERS_OFFSET)
    if sequence != beat.sequence or _FRONT.unpack_from(ring, _COUNTERS_OFFSET)[0] != sequence:
        return beat
    return beat._replace(
        mono=mono_ns / 1e9, phase=_phase(packed & 0xFF), callback_index=packed >> 8,
        step=beat.step + steps, train_batches=beat.train_batches + steps,
    )  # fmt: skip


def _phase(number: int) -> Phase:
    try:
        return Phase(number)
    except ValueError:  # of a newer version
        return Phase.BUILD


def _create(path: Path) -> mmap.mmap:
    """Maps the file, created or resized. Writes its blocks: a full disk is an error here, not a SIGBUS later."""
    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        header = _HEADER.pack(_MAGIC, _SLOTS, _RECORD_SIZE, 0)
        if os.fstat(fd).st_size != SIZE or os.pread(fd, 16, 0) != header[:16]:
            os.ftruncate(fd, 0)
            os.pwrite(fd, header.ljust(SIZE, b"\0"), 0)
            if os.fstat(fd).st_size != SIZE:
                raise OSError(28, "No space left on device", str(path))
        return _mapped(fd)
    finally:
        os.close(fd)


def _mapped(fd: int) -> mmap.mmap:
    """Without a descriptor. Before Python 3.13 a map keeps one and closes its number in the end, when that may have
    become the number of a file of the script's: such a map is kept forever, and its descriptor closed here."""
    if sys.version_info >= (3, 13):
        return mmap.mmap(fd, SIZE, trackfd=False)
    expected = os.dup(fd)  # the lowest that is free, which the map's own will be too
    os.close(expected)
    ring = mmap.mmap(fd, SIZE)
    if same_file(expected, fd) and _pin_mapping(ring):
        os.close(expected)
    return ring


def _pin_mapping(ring: mmap.mmap) -> bool:
    try:
        import ctypes
    except ImportError:  # a Python that was built without it
        return False
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(ring))
    return True
