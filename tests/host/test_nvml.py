"""NVML readings, by a stand-in that answers as NVML does: the tests run without a GPU."""

from __future__ import annotations

from types import SimpleNamespace

from holdfast.host import nvml

GIB = 2**30


class Nvml:
    def __init__(self, *, mig=False, processes=()):
        self.mig, self.processes = mig, processes

    def nvmlDeviceGetHandleByIndex(self, number):
        return f"gpu {number}"

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
        return [SimpleNamespace(pid=pid, usedGpuMemory=size) for pid, size in self.processes]

    def nvmlSystemGetProcessName(self, pid):
        if pid == 1:
            raise RuntimeError("not ours")
        return b"python"


def test_the_processes_on_a_gpu_are_listed():
    gpu = nvml._device(Nvml(processes=[(4711, 18 * GIB), (1, None)]), "gpu 0")
    assert gpu.describe() == (
        "6.0 GiB of 24.0 GiB are free; process 4711 (python) uses 18.0 GiB; "
        "process 1 (of another user) uses some"
    )


def test_a_mig_slice_names_its_gpu():
    gpu = nvml._device(Nvml(mig=True), "MIG-1")
    assert gpu.slice_of == "NVIDIA A100-SXM4-40GB"
    assert "a slice of NVIDIA A100-SXM4-40GB" in gpu.describe()


def test_a_gpu_is_found_by_index_or_uuid():
    assert nvml._handle(Nvml(), "2") == "gpu 2"
    assert nvml._handle(Nvml(), "GPU-abc") == "GPU-abc"


def test_hidden_gpus_are_none(monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "-1")
    assert nvml.local_gpu() is None


class Shared(Nvml):
    """A GPU with two processes, of which one computes."""

    def __init__(self, *, used=()):
        super().__init__(processes=[(10, 4 * GIB), (11, 5 * GIB)])
        self.used = used

    def nvmlDeviceGetMemoryInfo(self, handle):
        return SimpleNamespace(total=24 * GIB, free=6 * GIB, used=18 * GIB)

    def nvmlDeviceGetUtilizationRates(self, handle):
        return SimpleNamespace(gpu=97)

    def nvmlDeviceGetProcessUtilization(self, handle, since_us):
        assert since_us > 1.6e15
        if not self.used:
            raise type("NVMLError_NotFound", (Exception,), {})("Not Found")
        return [SimpleNamespace(pid=pid, smUtil=percent) for pid, percent in self.used]


def test_on_a_shared_gpu_the_share_of_our_processes_is_read():
    reader = nvml.GpuReader()
    reader._nvml, reader._handles = Shared(used=[(11, 97)]), ["gpu 0"]
    (idle,), (busy,) = reader.sample({10}), reader.sample({11})
    assert (idle["utilisation"], idle["ours_utilisation"]) == (97, 0)
    assert (busy["utilisation"], busy["ours_utilisation"]) == (97, 97)
    reader._nvml = Shared()
    assert reader.sample({11})[0]["ours_utilisation"] == 0
    assert "ours_utilisation" not in reader.sample({10, 11})[0]  # nobody else is on it
