"""NVIDIA's management library, which comes with the driver, through ctypes. `nvidia-smi` asks this library too.

A call that fails raises NvmlError, also where an old driver does not have the function. Layouts are those of nvml.h.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
from dataclasses import dataclass
from typing import Any

#: By the loader's own search first; then where containers, WSL and NixOS have the driver.
PLACES = (
    "libnvidia-ml.so.1",
    "/usr/local/nvidia/lib64/libnvidia-ml.so.1",
    "/usr/lib/wsl/lib/libnvidia-ml.so.1",
    "/run/opengl-driver/lib/libnvidia-ml.so.1",
)
NOT_FOUND = 6
_INSUFFICIENT_SIZE = 7
_FUNCTION_NOT_FOUND = 13
_NOT_AVAILABLE = 2**64 - 1
_NAME_BYTES = 256
_TRIES = 4  # processes may start between the question for their number and that for the list
_MORE = 4
_UNWRITTEN = 0xA5
_MAX_ENTRY_BYTES = 32

Handle = ctypes.c_void_p


class NvmlError(Exception):
    def __init__(self, function: str, code: int) -> None:
        super().__init__(f"{function} returned {code}")
        self.code = code


@dataclass(frozen=True, slots=True)
class GpuMemory:
    total: int
    free: int
    used: int


class _Memory(ctypes.Structure):
    _fields_ = (("total", ctypes.c_uint64), ("free", ctypes.c_uint64), ("used", ctypes.c_uint64))


class _Memory2(ctypes.Structure):
    """Counts the driver's own reserve apart from `used`, as nvidia-smi does."""

    _fields_ = (
        ("version", ctypes.c_uint),
        ("total", ctypes.c_uint64),
        ("reserved", ctypes.c_uint64),
        ("free", ctypes.c_uint64),
        ("used", ctypes.c_uint64),
    )


class _Utilisation(ctypes.Structure):
    _fields_ = (("gpu", ctypes.c_uint), ("memory", ctypes.c_uint))


class _Process(ctypes.Structure):
    """With these two all versions of the entry begin."""

    _fields_ = (("pid", ctypes.c_uint), ("used", ctypes.c_uint64))


class _ProcessSample(ctypes.Structure):
    _fields_ = (
        ("pid", ctypes.c_uint),
        ("at_us", ctypes.c_uint64),
        ("sm", ctypes.c_uint),
        ("memory", ctypes.c_uint),
        ("encoder", ctypes.c_uint),
        ("decoder", ctypes.c_uint),
    )


def open_nvml() -> NvmlLibrary | None:
    """None without the library. Raises NvmlError where the library finds no driver or no GPU."""
    for place in PLACES:
        with contextlib.suppress(OSError):
            return NvmlLibrary(ctypes.CDLL(place))
    return None


class NvmlLibrary:
    def __init__(self, library: ctypes.CDLL) -> None:
        self._library = library
        self._call_newest(("nvmlInit_v2", "nvmlInit"))

    def count(self) -> int:
        count = ctypes.c_uint()
        self._call_newest(("nvmlDeviceGetCount_v2", "nvmlDeviceGetCount"), ctypes.byref(count))
        return count.value

    def by_index(self, index: int) -> Handle:
        handle = Handle()
        names = ("nvmlDeviceGetHandleByIndex_v2", "nvmlDeviceGetHandleByIndex")
        self._call_newest(names, ctypes.c_uint(index), ctypes.byref(handle))
        return handle

    def by_uuid(self, uuid: str) -> Handle:
        """Of a GPU or of a MIG slice."""
        handle = Handle()
        self._call("nvmlDeviceGetHandleByUUID", ctypes.c_char_p(os.fsencode(uuid)), ctypes.byref(handle))
        return handle

    def whole(self, handle: Handle) -> Handle | None:
        """The GPU of a MIG slice; None for a GPU."""
        sliced, whole = ctypes.c_uint(), Handle()
        self._call("nvmlDeviceIsMigDeviceHandle", handle, ctypes.byref(sliced))
        if not sliced.value:
            return None
        self._call("nvmlDeviceGetDeviceHandleFromMigDeviceHandle", handle, ctypes.byref(whole))
        return whole

    def name(self, handle: Handle) -> str:
        text = ctypes.create_string_buffer(_NAME_BYTES)
        self._call("nvmlDeviceGetName", handle, text, ctypes.c_uint(_NAME_BYTES))
        return text.value.decode(errors="replace")

    def process_name(self, pid: int) -> str:
        text = ctypes.create_string_buffer(_NAME_BYTES)
        self._call("nvmlSystemGetProcessName", ctypes.c_uint(pid), text, ctypes.c_uint(_NAME_BYTES))
        return text.value.decode(errors="replace")

    def memory(self, handle: Handle) -> GpuMemory:
        newer = _Memory2(version=ctypes.sizeof(_Memory2) | 2 << 24)
        with contextlib.suppress(NvmlError):
            self._call("nvmlDeviceGetMemoryInfo_v2", handle, ctypes.byref(newer))
            return GpuMemory(newer.total, newer.free, newer.used)
        older = _Memory()
        self._call("nvmlDeviceGetMemoryInfo", handle, ctypes.byref(older))
        return GpuMemory(older.total, older.free, older.used)

    def utilisation(self, handle: Handle) -> int:
        """Percent of the last sample period, of 1/6 to 1 s, in which a kernel ran."""
        rates = _Utilisation()
        self._call("nvmlDeviceGetUtilizationRates", handle, ctypes.byref(rates))
        return int(rates.gpu)

    def processes(self, handle: Handle) -> dict[int, int | None]:
        """Bytes by the pid of each process that computes; None where the driver does not say, as in a container."""
        function = "nvmlDeviceGetComputeRunningProcesses"
        count = 0
        for _ in range(_TRIES):
            capacity = ctypes.c_uint(count)
            content = bytearray([_UNWRITTEN]) * (max(1, count) * _MAX_ENTRY_BYTES)
            entries = (ctypes.c_char * len(content)).from_buffer(content)
            try:
                named = self._call_newest(
                    (f"{function}_v3", f"{function}_v2", function), handle, ctypes.byref(capacity), entries
                )
            except NvmlError as error:
                if error.code != _INSUFFICIENT_SIZE:
                    raise
                count = capacity.value + (_MORE if count else 0)
                continue
            found = capacity.value
            step = _entry_bytes(content, found, declared=16 if named == function else 24)
            listed = [_Process.from_buffer_copy(content, number * step) for number in range(found)]
            return {int(one.pid): None if one.used == _NOT_AVAILABLE else int(one.used) for one in listed}
        raise NvmlError(function, _INSUFFICIENT_SIZE)

    def process_utilisation(self, handle: Handle, since_us: int) -> list[tuple[int, int]]:
        """The pid of each process that kept the GPU busy since then, and the percent of the last sample period."""
        function = "nvmlDeviceGetProcessUtilization"
        count = 0
        for _ in range(_TRIES):
            capacity = ctypes.c_uint(count)
            samples = (_ProcessSample * max(1, count))()
            given = samples if count else None
            try:
                self._call(function, handle, given, ctypes.byref(capacity), ctypes.c_uint64(since_us))
            except NvmlError as error:
                if error.code != _INSUFFICIENT_SIZE:
                    raise
                count = capacity.value + _MORE
                continue
            return [(int(one.pid), int(one.sm)) for one in samples[: min(count, capacity.value)]]
        raise NvmlError(function, _INSUFFICIENT_SIZE)

    def _call(self, function: str, *arguments: Any) -> None:
        try:
            code = getattr(self._library, function)(*arguments)
        except AttributeError:
            code = _FUNCTION_NOT_FOUND
        if code != 0:
            raise NvmlError(function, code)

    def _call_newest(self, functions: tuple[str, ...], *arguments: Any) -> str:
        """Calls the first of these that this driver has, and says which."""
        for function in functions[:-1]:
            try:
                self._call(function, *arguments)
                return function
            except NvmlError as error:
                if error.code != _FUNCTION_NOT_FOUND:
                    raise
        self._call(functions[-1], *arguments)
        return functions[-1]


def _entry_bytes(content: bytearray, count: int, *, declared: int) -> int:
    """The distance of two entries. Some drivers write longer ones than their version says (535.43 to 535.86, at
    version 3), so it is measured by how far they wrote."""
    written = len(content.rstrip(bytes([_UNWRITTEN])))
    measured = written // count if count else 0
    return measured if measured in (16, 24, 32) and measured * count == written else declared
