"""GPU memory and use through NVML, which opens no CUDA context and so takes no memory on the card.

`pynvml` is used where it is installed. Where it is not, or there is no card, the answer is an empty list.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Collection
from typing import Any


class GpuReader:
    """Initialises NVML once; any error switches the card readings off, never the watch."""

    def __init__(self) -> None:
        self._nvml: Any = None
        self._handles: list[Any] = []
        if not os.path.exists("/proc/driver/nvidia/version") and not os.path.exists("/dev/nvidiactl"):
            return
        with contextlib.suppress(Exception):  # NVMLError is a plain Exception
            import pynvml

            pynvml.nvmlInit()
            self._handles = [pynvml.nvmlDeviceGetHandleByIndex(n) for n in range(pynvml.nvmlDeviceGetCount())]
            self._nvml = pynvml

    @property
    def present(self) -> bool:
        return bool(self._handles)

    def describe(self) -> list[dict[str, Any]]:
        """For MachineRead: names, sizes and who is on each card before we start."""
        found = []
        for handle in self._handles:
            with contextlib.suppress(Exception):
                memory = self._memory(handle)
                found.append(
                    {
                        "name": _text(self._nvml.nvmlDeviceGetName(handle)),
                        "total_bytes": int(memory.total),
                        "used_bytes": int(memory.used),
                        "processes": [
                            {"pid": pid, "name": self._process_name(pid), "bytes": used}
                            for pid, used in self._users(handle).items()
                        ],
                    }
                )
        return found

    def sample(self, ours: Collection[int]) -> list[dict[str, Any]]:
        found = []
        for handle in self._handles:
            with contextlib.suppress(Exception):
                memory = self._memory(handle)
                users = self._users(handle)
                one: dict[str, Any] = {
                    "used_bytes": int(memory.used),
                    "total_bytes": int(memory.total),
                    "ours_bytes": sum(used or 0 for pid, used in users.items() if pid in ours),
                    "others": [{"pid": pid, "bytes": used} for pid, used in users.items() if pid not in ours][
                        :8
                    ],
                }
                with contextlib.suppress(Exception):
                    one["utilisation"] = int(self._nvml.nvmlDeviceGetUtilizationRates(handle).gpu)
                found.append(one)
        return found

    def _memory(self, handle: Any) -> Any:
        """The second version counts what the driver keeps for itself apart, as nvidia-smi does."""
        with contextlib.suppress(Exception):
            return self._nvml.nvmlDeviceGetMemoryInfo(handle, version=self._nvml.nvmlMemory_v2)
        return self._nvml.nvmlDeviceGetMemoryInfo(handle)

    def _users(self, handle: Any) -> dict[int, int | None]:
        try:
            running = self._nvml.nvmlDeviceGetComputeRunningProcesses(handle)
        except Exception:
            return {}
        return {
            int(one.pid): None if one.usedGpuMemory is None else int(one.usedGpuMemory) for one in running
        }

    def _process_name(self, pid: int) -> str:
        with contextlib.suppress(Exception):
            return _text(self._nvml.nvmlSystemGetProcessName(pid))
        return ""


def _text(value: Any) -> str:
    return value.decode(errors="replace") if isinstance(value, bytes) else str(value)
