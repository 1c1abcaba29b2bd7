"""What NVML says of a card, by a stand-in that answers as NVML does: there is no card where the tests run."""

from __future__ import annotations

from types import SimpleNamespace

from holdfast.host import gpu_memory

GIB = 2**30


class Nvml:
    def __init__(self, *, mig=False, holders=()):
        self.mig, self.holders = mig, holders

    def nvmlDeviceGetHandleByIndex(self, number):
        return f"card {number}"

    def nvmlDeviceGetHandleByUUID(self, name):
        return name

    def nvmlDeviceGetMemoryInfo(self, handle):
        return SimpleNamespace(total=24 * GIB, free=6 * GIB)

    def nvmlDeviceIsMigDeviceHandle(self, handle):
        return self.mig

    def nvmlDeviceGetDeviceHandleFromMigDeviceHandle(self, handle):
        return "whole"

    def nvmlDeviceGetName(self, handle):
        return b"NVIDIA A100-SXM4-40GB" if handle == "whole" else "NVIDIA L4"

    def nvmlDeviceGetComputeRunningProcesses(self, handle):
        return [SimpleNamespace(pid=pid, usedGpuMemory=size) for pid, size in self.holders]

    def nvmlSystemGetProcessName(self, pid):
        if pid == 1:
            raise RuntimeError("not ours")
        return b"python"


def test_who_holds_what_is_said():
    found = gpu_memory._read(Nvml(holders=[(4711, 18 * GIB), (1, None)]), "card 0")
    assert found.words() == (
        "6.00 GiB of 24.0 GiB are free; process 4711 (python) holds 18.0 GiB; "
        "process 1 (not ours to see) holds some"
    )


def test_a_slice_names_the_card_that_it_is_of():
    found = gpu_memory._read(Nvml(mig=True), "MIG-1")
    assert found.slice_of == "NVIDIA A100-SXM4-40GB"
    assert "a slice of NVIDIA A100-SXM4-40GB" in found.words()


def test_the_first_visible_card_is_looked_at():
    assert gpu_memory._handle(Nvml(), "2") == "card 2"
    assert gpu_memory._handle(Nvml(), "GPU-abc") == "GPU-abc"


def test_no_card_is_none(monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "-1")
    assert gpu_memory.local_gpu() is None
