"""GPU memory and utilisation through NVML, which opens no CUDA context and so takes no memory on the GPU.

Without a driver or a GPU there are no readings; an error in one reading leaves that one out.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from holdfast.host.nvml_library import NOT_FOUND, Handle, NvmlError, NvmlLibrary, open_nvml
from holdfast.units import size

_MAX_OTHERS = 8
_UTILISATION_S = 5.0


@dataclass(frozen=True, slots=True)
class GpuDevice:
    """A GPU, or the MIG slice of one that this process may use."""

    name: str
    total_bytes: int
    free_bytes: int
    processes: tuple[tuple[int, str, int | None], ...] = ()  # pid, name, bytes
    slice_of: str = ""

    def describe(self) -> str:
        text = f"{size(self.free_bytes)} of {size(self.total_bytes)} are free"
        if self.slice_of:
            text += f", a slice of {self.slice_of}"
        for pid, name, used in self.processes:
            text += f"; process {pid} ({name or 'of another user'}) uses {size(used) if used else 'some'}"
        return text


def local_gpu(index: int = 0) -> GpuDevice | None:
    """The first GPU in CUDA_VISIBLE_DEVICES; None without a GPU or a driver."""
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    if visible is not None and visible.split(",")[0].strip() in ("", "-1"):
        return None
    with contextlib.suppress(NvmlError):
        nvml = open_nvml()
        return _device(nvml, _handle(nvml, (visible or str(index)).split(",")[0].strip())) if nvml else None
    return None


class GpuReader:
    """Initialises NVML once. Any error switches the GPU readings off, never the monitor."""

    def __init__(self) -> None:
        self._gpus: list[tuple[NvmlLibrary, Handle]] = []
        with contextlib.suppress(NvmlError):
            if (nvml := open_nvml()) is not None:
                self._gpus = [(nvml, nvml.by_index(number)) for number in range(nvml.count())]

    @property
    def present(self) -> bool:
        return bool(self._gpus)

    def describe(self) -> list[dict[str, Any]]:
        """For MachineRead: names, sizes and the processes on each GPU before we start."""
        gpus = []
        for nvml, handle in self._gpus:
            with contextlib.suppress(NvmlError):
                memory = nvml.memory(handle)
                gpus.append(
                    {
                        "name": nvml.name(handle),
                        "total_bytes": memory.total,
                        "used_bytes": memory.used,
                        "processes": [
                            {"pid": pid, "name": _process_name(nvml, pid), "bytes": used}
                            for pid, used in _processes(nvml, handle).items()
                        ],
                    }
                )
        return gpus

    def sample(self, ours: Collection[int]) -> list[dict[str, Any]]:
        """For a sample: memory and utilisation of each GPU; `ours` are the pids of the run."""
        gpus = []
        for nvml, handle in self._gpus:
            with contextlib.suppress(NvmlError):
                memory = nvml.memory(handle)
                used = _processes(nvml, handle)
                others = [{"pid": pid, "bytes": count} for pid, count in used.items() if pid not in ours]
                gpu: dict[str, Any] = {
                    "used_bytes": memory.used,
                    "total_bytes": memory.total,
                    "ours_bytes": sum(count or 0 for pid, count in used.items() if pid in ours),
                    "others": others[:_MAX_OTHERS],
                }
                if gpu["ours_bytes"] and others:
                    gpu["ours_utilisation"] = _utilisation_of(nvml, handle, ours)
                with contextlib.suppress(NvmlError):
                    gpu["utilisation"] = nvml.utilisation(handle)
                gpus.append(gpu)
        return gpus


def _handle(nvml: NvmlLibrary, name: str) -> Handle:
    if name.startswith(("GPU-", "MIG-")):
        return nvml.by_uuid(name)
    return nvml.by_index(int(name) if name.isdecimal() else 0)


def _device(nvml: NvmlLibrary, handle: Handle) -> GpuDevice:
    memory = nvml.memory(handle)
    slice_of = ""
    with contextlib.suppress(NvmlError):
        if (whole := nvml.whole(handle)) is not None:
            slice_of = nvml.name(whole)
    processes = tuple((pid, _process_name(nvml, pid), used) for pid, used in _processes(nvml, handle).items())
    return GpuDevice(nvml.name(handle), memory.total, memory.free, processes, slice_of)


def _processes(nvml: NvmlLibrary, handle: Handle) -> dict[int, int | None]:
    with contextlib.suppress(NvmlError):
        return nvml.processes(handle)
    return {}


def _utilisation_of(nvml: NvmlLibrary, handle: Handle, pids: Collection[int]) -> int | None:
    """Percent of the last seconds in which these processes kept the GPU busy; None where the driver does not say."""
    since_us = int((time.time() - _UTILISATION_S) * 1e6)
    try:
        samples = nvml.process_utilisation(handle, since_us)
    except NvmlError as error:
        # Nobody used it. Any other error leaves the question open.
        return 0 if error.code == NOT_FOUND else None
    return min(100, sum(percent for pid, percent in samples if pid in pids))


def _process_name(nvml: NvmlLibrary, pid: int) -> str:
    with contextlib.suppress(NvmlError):
        return nvml.process_name(pid)
    return ""
