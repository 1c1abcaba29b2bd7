"""Whether a run used the GPU is decided by the kinds of devices that it recorded, and by names only as a fallback."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from holdfast.explain import Strength
from holdfast.explain.finding import Finding
from holdfast.journal import events as ev
from tests.explain.made import Run, facts, remedies

H200 = {"name": "NVIDIA H200", "total_bytes": 140 << 30, "used_bytes": 0}


def _with_gpu(run: Run, **seen: Any) -> None:
    run.supervisor(ev.MachineRead(gpus=[H200]))
    run.probe(ev.FrameworkSeen(name="tensorflow", version="2.21.0", **seen))
    run.fit()
    run.epochs([100, 100, 100])
    run.ended(0)


def example(run: Run) -> None:
    _with_gpu(run, devices=["CPU:0"], device_kinds=["cpu"], built_with_cuda=False)


def near_miss(run: Run) -> None:
    _with_gpu(run, devices=["CPU:0", "GPU:0"], device_kinds=["cpu", "gpu"], built_with_cuda=True)


def finding_of(path: Path, *seen: ev.FrameworkSeen) -> Finding | None:
    run = Run(path)
    run.supervisor(ev.MachineRead(gpus=[H200]))
    run.probe(*seen)
    run.fit()
    run.epochs([100, 100, 100])
    run.ended(0)
    return next((one for one in run.verdict().findings if one.cause == "gpu-not-used"), None)


def torch(**devices: Any) -> tuple[ev.FrameworkSeen, ev.FrameworkSeen]:
    """As the probe records it: at the import, and at the first step."""
    imported = ev.FrameworkSeen(
        name="torch",
        version="2.9.0+cu128",
        versions={"torch": "2.9.0+cu128", "numpy": "2.3.4"},
        environment={"CUDA_HOME": "/usr/local/cuda"},
        built_with_cuda=True,
    )
    return imported, ev.FrameworkSeen(name="torch", version="2.9.0+cu128", **devices)


def test_a_torch_run_on_an_h200_is_not_blamed(tmp_path: Path) -> None:
    seen = torch(devices=["NVIDIA H200"], device_kinds=["cuda"], parameters_on=["cuda"])
    assert finding_of(tmp_path, *seen) is None


@pytest.mark.parametrize(
    "name",
    [
        "NVIDIA H200",
        "NVIDIA GeForce RTX 4090",
        "Tesla T4",
        "AMD Instinct MI300X",
        "GPU:0",
        "cuda:0",
        "TPU v5 lite",
    ],
)
def test_a_journal_of_before_kinds_is_not_blamed_for_a_name_of_a_gpu(tmp_path: Path, name: str) -> None:
    assert finding_of(tmp_path, *torch(devices=[name])) is None


@pytest.mark.parametrize("name", ["cpu", "CPU:0", "/physical_device:CPU:0", "TFRT_CPU_0", "cpu:0 cpu"])
def test_a_name_alone_never_makes_it_established(tmp_path: Path, name: str) -> None:
    found = finding_of(tmp_path, *torch(devices=[name]))
    assert found is not None and found.strength is Strength.SUPPORTED


@pytest.mark.parametrize("kind", ["cuda", "gpu", "GPU", "xpu", "mps", "tpu", "npu"])
def test_the_kind_decides_and_not_the_name(tmp_path: Path, kind: str) -> None:
    assert (
        finding_of(tmp_path, ev.FrameworkSeen(name="x", devices=["a CPU, by name"], device_kinds=[kind]))
        is None
    )


@pytest.mark.parametrize("kind", ["cpu", "CPU", "XLA_CPU"])
def test_kinds_of_cpus_establish_it(tmp_path: Path, kind: str) -> None:
    found = finding_of(
        tmp_path, ev.FrameworkSeen(name="jax", devices=["NVIDIA, by name"], device_kinds=[kind])
    )
    assert found is not None and found.strength is Strength.ESTABLISHED


def test_parameters_on_an_accelerator_are_proof_whatever_the_devices_say(tmp_path: Path) -> None:
    seen = torch(devices=["cpu"], device_kinds=["cpu"], parameters_on=["mps"])
    assert finding_of(tmp_path, *seen) is None


def test_an_optimizer_on_the_cpu_is_no_proof_where_the_gpu_is_open(tmp_path: Path) -> None:
    """Offloaded optimizers keep their parameters in host memory and compute on the GPU."""
    seen = torch(devices=["NVIDIA H200"], device_kinds=["cuda"], parameters_on=["cpu"])
    assert finding_of(tmp_path, *seen) is None


def test_a_torch_model_that_was_never_moved_is_to_be_moved(tmp_path: Path) -> None:
    found = finding_of(tmp_path, *torch(devices=["cpu"], device_kinds=["cpu"], parameters_on=["cpu"]))
    assert found is not None and found.strength is Strength.ESTABLISHED
    assert facts(found) == {
        "machine.gpus": {"gpus": ["NVIDIA H200"]},
        "framework.devices": {"devices": ["cpu"]},
        "framework.parameters": {"devices": ["cpu"]},
    }
    assert remedies(found) == ["model.move-to-gpu", "framework.install-for-driver"]


def test_a_build_without_cuda_is_to_be_replaced(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    example(run)
    assert facts(run.first())["framework.without-cuda"] == {"framework": "tensorflow"}
    remedy = run.first().remedies[0]
    assert (remedy.kind, remedy.values) == ("framework.install-with-cuda", {"backend": "tensorflow"})


@pytest.mark.parametrize(("variable", "value"), [("JAX_PLATFORMS", "cpu"), ("CUDA_VISIBLE_DEVICES", "-1")])
def test_a_cpu_that_was_chosen_is_only_possible(tmp_path: Path, variable: str, value: str) -> None:
    seen = ev.FrameworkSeen(name="jax", backend="jax", devices=["TFRT_CPU_0"], environment={variable: value})
    found = finding_of(tmp_path, seen)
    assert found is not None and found.strength is Strength.POSSIBLE
    assert [fact.values for fact in found.against] == [{"variable": variable}]


def test_another_framework_on_the_gpu_is_enough(tmp_path: Path) -> None:
    jax = ev.FrameworkSeen(name="jax", devices=["gpu:0 NVIDIA H200"], device_kinds=["gpu"])
    cpu = ev.FrameworkSeen(name="torch", devices=["cpu"], device_kinds=["cpu"])
    assert finding_of(tmp_path, jax, cpu) is None


def test_without_any_device_nothing_is_said(tmp_path: Path) -> None:
    assert finding_of(tmp_path, torch()[0]) is None


def _torch_on_the_cpu(path: Path, *argv: str, ours_bytes: int, used_bytes: int = 60 << 30) -> Finding | None:
    """CUDA was opened for its name; processes of others are listed."""
    run = Run(path)
    run.supervisor(ev.MachineRead(gpus=[H200]))
    run.probe(ev.ProcessJoined(argv=["train.py", *argv], script="/home/u/train.py", role="main"))
    run.probe(*torch(devices=["NVIDIA H200"], device_kinds=["cuda"], parameters_on=["cpu"]))
    gpu = {"used_bytes": used_bytes, "total_bytes": 140 << 30, "ours_bytes": ours_bytes, "others": []}
    if used_bytes > 1 << 30:
        gpu["others"] = [{"pid": 77, "bytes": used_bytes}]
    run.samples(5, rss_bytes=1 << 30, phase="step", step=lambda n: n + 1, gpus=[gpu])
    run.ended(0)
    return next((one for one in run.verdict().findings if one.cause == "gpu-not-used"), None)


def test_a_gpu_that_was_asked_for_and_never_opened(tmp_path: Path) -> None:
    found = _torch_on_the_cpu(tmp_path, "--gpu", "0", ours_bytes=0)
    assert found is not None and found.strength is Strength.SUPPORTED
    assert facts(found)["arguments.gpu-asked"] == {"argument": "--gpu 0"}
    assert facts(found)["gpu.never-opened"] == {"looks": 5}


def test_weights_in_host_memory_with_a_gpu_in_use_are_offloaded(tmp_path: Path) -> None:
    assert _torch_on_the_cpu(tmp_path, "--gpu", "0", ours_bytes=2 << 30) is None


def test_where_processes_cannot_be_told_apart_nothing_is_said(tmp_path: Path) -> None:
    assert _torch_on_the_cpu(tmp_path, ours_bytes=0, used_bytes=600 << 20) is None


@pytest.mark.parametrize(
    "argv", [["--device", "cpu"], ["--device=cpu"], ["--no-cuda"], ["--accelerator", "cpu"]]
)
def test_a_cpu_that_the_arguments_ask_for_is_only_possible(tmp_path: Path, argv: list[str]) -> None:
    found = _torch_on_the_cpu(tmp_path, *argv, ours_bytes=0)
    assert found is not None and found.strength is Strength.POSSIBLE


def test_a_cpu_that_an_imported_module_chose_for_the_whole_process(tmp_path: Path) -> None:
    """Nobody who starts the script asked for it."""
    seen = ev.FrameworkSeen(
        name="jax", devices=["cpu:0 cpu"], device_kinds=["cpu"], environment={"JAX_PLATFORMS": "cpu"},
        environment_set={"JAX_PLATFORMS": "spectra.py:5"},
    )  # fmt: skip
    found = finding_of(tmp_path, seen)
    assert found is not None and (found.strength, found.against) == (Strength.SUPPORTED, [])
    assert facts(found)["environment.cpu-set-inside"] == {
        "variable": "JAX_PLATFORMS",
        "where": "spectra.py:5",
    }
