"""Memory for batches, used again when the last array over it is gone.

Fresh pages cost time in every batch, and a batch is needed for longer than the step that it was made for: a backend
may still copy from it, or compute on it where it lies. So a buffer comes back when nothing refers to it any more.
"""

from __future__ import annotations

import ctypes
import math
import mmap
import weakref

import numpy as np


class BatchBuffers:
    """Hands out arrays of one size. Threads may share it; it grows to as many as are in use at once."""

    def __init__(self, shape: tuple[int, ...]) -> None:
        self._shape, self._bytes = shape, math.prod(shape)
        self._free: list[mmap.mmap] = []

    def take(self) -> np.ndarray:
        """An array of uint8 with whatever was in it before."""
        memory = self._free.pop() if self._free else mmap.mmap(-1, self._bytes)
        # Every view refers to the holder, however it was made: NumPy passes over arrays between, not over this.
        holder = (ctypes.c_ubyte * self._bytes).from_buffer(memory)
        weakref.finalize(holder, self._free.append, memory).atexit = False
        whole: np.ndarray = np.frombuffer(holder, np.uint8)  # type: ignore[call-overload]
        return whole.reshape(self._shape)
