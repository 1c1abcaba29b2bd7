"""The binding to the driver's library, against a real shared library with made numbers."""

from __future__ import annotations

import pytest

from holdfast.host import nvml_library
from holdfast.host.nvml_library import GpuMemory, NvmlError, open_nvml

GIB = 2**30
SINCE_US = 1_700_000_000_000_000


def opened():
    nvml = open_nvml()
    assert nvml is not None
    return nvml, nvml.by_index(0)


def test_without_the_library_there_is_none(monkeypatch, tmp_path):
    monkeypatch.setattr(nvml_library, "PLACES", (str(tmp_path / "libnvidia-ml.so.1"),))
    assert open_nvml() is None


def test_a_file_that_is_no_library_is_none(monkeypatch, tmp_path):
    file = tmp_path / "libnvidia-ml.so.1"
    file.write_bytes(b"not ELF")
    monkeypatch.setattr(nvml_library, "PLACES", (str(file),))
    assert open_nvml() is None


def test_a_library_without_a_driver_says_its_code(driver):
    driver(NVML_FAIL="nvmlInit=9")
    with pytest.raises(NvmlError, match="nvmlInit_v2 returned 9"):
        open_nvml()


def test_what_a_gpu_says(driver):
    driver(NVML_PROCESSES="10:4294967296 11:-", NVML_SAMPLES="10:90 11:7")
    nvml, gpu = opened()
    assert nvml.count() == 1
    assert nvml.name(gpu) == "NVIDIA H200"
    assert nvml.memory(gpu) == GpuMemory(total=24 * GIB, free=6 * GIB, used=17 * GIB)  # 1 GiB is the driver's
    assert nvml.utilisation(gpu) == 97
    assert nvml.processes(gpu) == {10: 4 * GIB, 11: None}
    assert nvml.process_utilisation(gpu, SINCE_US) == [(10, 90), (11, 7)]
    assert nvml.process_name(10) == "python"
    assert nvml.whole(gpu) is None
    part = nvml.by_uuid("MIG-abc")
    assert nvml.name(part) == "NVIDIA H200 MIG 1g.18gb"
    assert nvml.name(nvml.whole(part)) == "NVIDIA H200"


def test_nobody_on_the_gpu(driver):
    driver()
    nvml, gpu = opened()
    assert nvml.processes(gpu) == {}
    with pytest.raises(NvmlError) as caught:
        nvml.process_utilisation(gpu, SINCE_US)
    assert caught.value.code == nvml_library.NOT_FOUND


def test_an_old_driver_lacks_the_newer_functions(driver):
    driver("-DOLD", "-DENTRY=16", NVML_PROCESSES="10:4294967296 11:- 12:77")
    nvml, gpu = opened()
    assert nvml.count() == 2
    assert nvml.memory(gpu) == GpuMemory(total=24 * GIB, free=6 * GIB, used=18 * GIB)
    assert nvml.processes(gpu) == {10: 4 * GIB, 11: None, 12: 77}
    for call in (lambda: nvml.whole(gpu), lambda: nvml.process_utilisation(gpu, SINCE_US)):
        with pytest.raises(NvmlError) as caught:
            call()
        assert caught.value.code == 13


def test_a_memory_question_that_the_driver_refuses_is_asked_in_the_older_form(driver):
    driver(NVML_FAIL="nvmlDeviceGetMemoryInfo_v2=25")
    nvml, gpu = opened()
    assert nvml.memory(gpu).used == 18 * GIB


@pytest.mark.parametrize("entry", [16, 24, 32])
def test_entries_longer_or_shorter_than_their_version_says(driver, entry):
    driver(f"-DENTRY={entry}", NVML_PROCESSES="10:1000 11:- 12:3000")
    nvml, gpu = opened()
    assert nvml.processes(gpu) == {10: 1000, 11: None, 12: 3000}


def test_many_processes(driver):
    wanted = {1000 + number: number * 2**20 for number in range(900)}
    driver(NVML_PROCESSES=" ".join(f"{pid}:{used}" for pid, used in wanted.items()))
    nvml, gpu = opened()
    assert nvml.processes(gpu) == wanted


def test_a_process_that_starts_between_two_questions(driver):
    driver(NVML_PROCESSES="10:5", NVML_STARTS="1")
    nvml, gpu = opened()
    assert nvml.processes(gpu) == {10: 5, 9000: GIB, 9001: GIB}


def test_more_processes_start_than_there_is_room_for_each_time(driver):
    driver(NVML_PROCESSES="10:5", NVML_STARTS="20")
    nvml, gpu = opened()
    with pytest.raises(NvmlError) as caught:
        nvml.processes(gpu)
    assert caught.value.code == 7


def test_a_call_that_fails_says_which(driver):
    driver(NVML_FAIL="nvmlDeviceGetUtilizationRates=3 nvmlDeviceGetComputeRunningProcesses_v3=4")
    nvml, gpu = opened()
    with pytest.raises(NvmlError, match="nvmlDeviceGetUtilizationRates returned 3"):
        nvml.utilisation(gpu)
    with pytest.raises(NvmlError, match="nvmlDeviceGetComputeRunningProcesses_v3 returned 4"):
        nvml.processes(gpu)
    with pytest.raises(NvmlError):
        nvml.by_uuid("GPU-of-another-machine")
