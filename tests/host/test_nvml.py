"""What is read of a GPU, by a library that answers as the driver's does: the tests run without a GPU."""

from __future__ import annotations

import os
import subprocess
import sys

from holdfast.host import nvml, nvml_library
from holdfast.journal.events import MachineRead
from holdfast.journal.reader import read

GIB = 2**30


def test_the_processes_on_a_gpu_are_listed(driver, monkeypatch):
    driver(NVML_PROCESSES=f"4711:{18 * GIB} 1:-")
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    gpu = nvml.local_gpu()
    assert gpu.name == "NVIDIA H200"
    assert gpu.describe() == (
        "6.0 GiB of 24.0 GiB are free; process 4711 (python) uses 18.0 GiB; "
        "process 1 (of another user) uses some"
    )


def test_a_mig_slice_names_its_gpu(driver, monkeypatch):
    driver()
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "MIG-abc")
    gpu = nvml.local_gpu()
    assert (gpu.name, gpu.slice_of) == ("NVIDIA H200 MIG 1g.18gb", "NVIDIA H200")
    assert "a slice of NVIDIA H200" in gpu.describe()


def test_a_gpu_is_found_by_index_or_uuid(driver, monkeypatch):
    driver()
    for visible, name in (
        ("1,0", "NVIDIA H200"),
        ("GPU-abc", "NVIDIA H200"),
        ("GPU-other", None),
        ("7", None),
    ):
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
        found = nvml.local_gpu()
        assert (found.name if found else None) == name


def test_hidden_gpus_are_none(driver, monkeypatch):
    driver()
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "-1")
    assert nvml.local_gpu() is None


def test_without_a_driver_there_is_nothing_to_read(driver, monkeypatch, tmp_path):
    driver(NVML_FAIL="nvmlInit=9")
    assert not nvml.GpuReader().present
    assert nvml.local_gpu() is None
    monkeypatch.setattr(nvml_library, "PLACES", (str(tmp_path / "none"),))
    assert not nvml.GpuReader().present
    assert nvml.GpuReader().sample({1}) == nvml.GpuReader().describe() == []


def test_what_is_recorded_of_a_gpu_before_the_run(driver):
    driver(NVML_PROCESSES=f"10:{4 * GIB}")
    assert nvml.GpuReader().describe() == [
        {
            "name": "NVIDIA H200",
            "total_bytes": 24 * GIB,
            "used_bytes": 17 * GIB,
            "processes": [{"pid": 10, "name": "python", "bytes": 4 * GIB}],
        }
    ]


def test_on_a_shared_gpu_the_share_of_our_processes_is_read(driver, monkeypatch):
    driver(NVML_PROCESSES=f"10:{4 * GIB} 11:{5 * GIB}", NVML_SAMPLES="11:97")
    reader = nvml.GpuReader()
    (idle,), (busy,) = reader.sample({10}), reader.sample({11})
    assert idle == {
        "used_bytes": 17 * GIB,
        "total_bytes": 24 * GIB,
        "ours_bytes": 4 * GIB,
        "others": [{"pid": 11, "bytes": 5 * GIB}],
        "ours_utilisation": 0,
        "utilisation": 97,
    }
    assert (busy["utilisation"], busy["ours_utilisation"]) == (97, 97)
    assert "ours_utilisation" not in reader.sample({10, 11})[0]  # nobody else is on it
    monkeypatch.delenv("NVML_SAMPLES")
    assert reader.sample({11})[0]["ours_utilisation"] == 0
    monkeypatch.setenv("NVML_FAIL", "nvmlDeviceGetProcessUtilization=3")
    assert reader.sample({11})[0]["ours_utilisation"] is None


def test_a_reading_that_fails_is_left_out(driver, monkeypatch):
    driver(NVML_FAIL="nvmlDeviceGetUtilizationRates=3 nvmlDeviceGetComputeRunningProcesses_v3=4")
    reader = nvml.GpuReader()
    assert reader.sample({10}) == [
        {"used_bytes": 17 * GIB, "total_bytes": 24 * GIB, "ours_bytes": 0, "others": []}
    ]
    monkeypatch.setenv("NVML_FAIL", "nvmlDeviceGetMemoryInfo_v2=15 nvmlDeviceGetMemoryInfo=15")
    assert reader.sample({10}) == []


def test_a_run_records_what_the_library_says(driver, tmp_path):
    """Found by the loader, as on a user's machine, without any package."""
    library = driver(NVML_PROCESSES="1:7")
    run = tmp_path / "run"
    words = [sys.executable, "-m", "holdfast", "run", "--run-dir", str(run), "--", "true"]
    environment = {**os.environ, "LD_LIBRARY_PATH": str(library.parent)}
    subprocess.run(words, env=environment, check=True, capture_output=True)
    machine = [entry.event for entry in read(run / "journal.jsonl") if isinstance(entry.event, MachineRead)]
    assert [[gpu["name"] for gpu in event.gpus] for event in machine] == [["NVIDIA H200"]]
