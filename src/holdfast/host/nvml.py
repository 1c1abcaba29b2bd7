"""GPU memory and utilisation through NVML, which opens no CUDA context and so takes no memory on the GPU.

`pynvml` is used where it is installed. Without it, a driver or a GPU, there are no readings; an error in one reading
leaves that one out. NVMLError is a plain Exception, and drivers fail in many ways.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

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
    """The first GPU in CUDA_VISIBLE_DEVICES; None without a GPU, a driver or pynvml."""
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    if visible is not None and visible.split(",")[0].strip() in ("", "-1"):
        return None
    with contextlib.suppress(Exception):
        nvml = _load()
        return _device(nvml, _handle(nvml, (visible or str(index)).split(",")[0].strip())) if nvml else None
    return None


class GpuReader:
    """Initialises NVML once. Any error switches the GPU readings off, never the monitor."""

    def __init__(self) -> None:
        self._nvml: Any = None
        self._handles: list[Any] = []
        with contextlib.suppress(Exception):
            nvml = _load()
            if nvml is not None:
                self._handles = [nvml.nvmlDeviceGetHandleByIndex(n) for n in range(nvml.nvmlDeviceGetCount())]
                self._nvml = nvml

    @property
    def present(self) -> bool:
        return bool(self._handles)

    def describe(self) -> list[dict[str, Any]]:
        """For MachineRead: names, sizes and the processes on each GPU before we start."""
        gpus = []
        for handle in self._handles:
            with contextlib.suppress(Exception):
                memory = _memory(self._nvml, handle)
                gpus.append(
                    {
                        "name": _text(self._nvml.nvmlDeviceGetName(handle)),
                        "total_bytes": int(memory.total),
                        "used_bytes": int(memory.used),
                        "processes": [
                            {"pid": pid, "name": _process_name(self._nvml, pid), "bytes": used}
                            for pid, used in _processes(self._nvml, handle).items()
                        ],
                    }
                )
        return gpus

    def sample(self, ours: Collection[int]) -> list[dict[str, Any]]:
        """For a sample: memory and utilisation of each GPU; `ours` are the pids of the run."""
        gpus = []
        for handle in self._handles:
            with contextlib.suppress(Exception):
                memory = _memory(self._nvml, handle)
                used = _processes(self._nvml, handle)
                others = [{"pid": pid, "bytes": count} for pid, count in used.items() if pid not in ours]
                gpu: dict[str, Any] = {
                    "used_bytes": int(memory.used),
                    "total_bytes": int(memory.total),
                    "ours_bytes": sum(count or 0 for pid, count in used.items() if pid in ours),
                    "others": others[:_MAX_OTHERS],
                }
                if gpu["ours_bytes"] and others:
                    gpu["ours_utilisation"] = _utilisation_of(self._nvml, handle, ours)
                with contextlib.suppress(Exception):
                    gpu["utilisation"] = int(self._nvml.nvmlDeviceGetUtilizationRates(handle).gpu)
                gpus.append(gpu)
        return gpus


def _load() -> Any:
    """pynvml, initialised; None without a driver. Raises what pynvml raises."""
    if not os.path.exists("/proc/driver/nvidia/version") and not os.path.exists("/dev/nvidiactl"):
        return None
    import pynvml

    pynvml.nvmlInit()
    return pynvml


def _handle(nvml: Any, name: str) -> Any:
    if name.startswith(("GPU-", "MIG-")):
        return nvml.nvmlDeviceGetHandleByUUID(name)
    return nvml.nvmlDeviceGetHandleByIndex(int(name) if name.isdigit() else 0)


def _device(nvml: Any, handle: Any) -> GpuDevice:
    memory = _memory(nvml, handle)
    slice_of = ""
    with contextlib.suppress(Exception):
        if nvml.nvmlDeviceIsMigDeviceHandle(handle):
            parent = nvml.nvmlDeviceGetDeviceHandleFromMigDeviceHandle(handle)
            slice_of = _text(nvml.nvmlDeviceGetName(parent))
    processes = tuple((pid, _process_name(nvml, pid), used) for pid, used in _processes(nvml, handle).items())
    name = _text(nvml.nvmlDeviceGetName(handle))
    return GpuDevice(name, int(memory.total), int(memory.free), processes, slice_of)


def _memory(nvml: Any, handle: Any) -> Any:
    """Version 2 counts the driver's own reserve apart from `used`, as nvidia-smi does."""
    with contextlib.suppress(Exception):
        return nvml.nvmlDeviceGetMemoryInfo(handle, version=nvml.nvmlMemory_v2)
    return nvml.nvmlDeviceGetMemoryInfo(handle)


def _processes(nvml: Any, handle: Any) -> dict[int, int | None]:
    """Bytes by pid; None where the driver does not say, as in a container."""
    with contextlib.suppress(Exception):
        running = nvml.nvmlDeviceGetComputeRunningProcesses(handle)
        return {int(p.pid): None if p.usedGpuMemory is None else int(p.usedGpuMemory) for p in running}
    return {}


def _utilisation_of(nvml: Any, handle: Any, pids: Collection[int]) -> int | None:
    """Percent of the last seconds in which these processes kept the GPU busy; None where the driver does not say."""
    since_us = int((time.time() - _UTILISATION_S) * 1e6)
    try:
        samples = nvml.nvmlDeviceGetProcessUtilization(handle, since_us)
    except Exception as error:
        # Nobody used it. Any other error leaves the question open.
        return 0 if "NotFound" in type(error).__name__ or "Not Found" in str(error) else None
    return min(100, sum(int(one.smUtil) for one in samples if int(one.pid) in pids))


def _process_name(nvml: Any, pid: int) -> str:
    with contextlib.suppress(Exception):
        return _text(nvml.nvmlSystemGetProcessName(pid))
    return ""


def _text(value: Any) -> str:
    return value.decode(errors="replace") if isinstance(value, bytes) else str(value)
