"""The card of this machine as it is now: its memory, what is free, and who holds the rest."""

from __future__ import annotations

import contextlib
import os
from dataclasses import dataclass
from typing import Any

from holdfast.memory.byte_sizes import shown


@dataclass(frozen=True, slots=True)
class GpuDevice:
    """A whole card, or the slice of one (MIG) that this process may use."""

    name: str
    total_bytes: int
    free_bytes: int
    holders: tuple[tuple[int, str, int | None], ...] = ()  # process, name, bytes
    slice_of: str = ""

    def words(self) -> str:
        said = f"{shown(self.free_bytes)} of {shown(self.total_bytes)} are free"
        if self.slice_of:
            said += f", a slice of {self.slice_of}"
        for pid, name, size in self.holders:
            held = shown(size) if size else "some"
            said += f"; process {pid} ({name or 'not ours to see'}) holds {held}"
        return said


def local_gpu(index: int = 0) -> GpuDevice | None:
    """The first card that CUDA_VISIBLE_DEVICES leaves; None without a card, a driver or pynvml."""
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    if visible is not None and visible.split(",")[0].strip() in ("", "-1"):
        return None
    if not os.path.exists("/proc/driver/nvidia/version") and not os.path.exists("/dev/nvidiactl"):
        return None
    with contextlib.suppress(Exception):  # NVMLError is a plain Exception, and drivers fail in many ways
        import pynvml

        pynvml.nvmlInit()
        return _read(pynvml, _handle(pynvml, (visible or str(index)).split(",")[0].strip()))
    return None


def _handle(nvml: Any, name: str) -> Any:
    if name.startswith(("GPU-", "MIG-")):
        return nvml.nvmlDeviceGetHandleByUUID(name)
    return nvml.nvmlDeviceGetHandleByIndex(int(name) if name.isdigit() else 0)


def _read(nvml: Any, handle: Any) -> GpuDevice:
    memory = nvml.nvmlDeviceGetMemoryInfo(handle)
    whole = ""
    with contextlib.suppress(Exception):
        if nvml.nvmlDeviceIsMigDeviceHandle(handle):
            parent = nvml.nvmlDeviceGetDeviceHandleFromMigDeviceHandle(handle)
            whole = _text(nvml.nvmlDeviceGetName(parent))
    holders = []
    with contextlib.suppress(Exception):
        for one in nvml.nvmlDeviceGetComputeRunningProcesses(handle):
            holders.append((int(one.pid), _process(nvml, one.pid), one.usedGpuMemory))
    return GpuDevice(
        _text(nvml.nvmlDeviceGetName(handle)), int(memory.total), int(memory.free), tuple(holders), whole
    )


def _process(nvml: Any, pid: int) -> str:
    with contextlib.suppress(Exception):
        return _text(nvml.nvmlSystemGetProcessName(pid))
    return ""


def _text(value: Any) -> str:
    return value.decode(errors="replace") if isinstance(value, bytes) else str(value)
