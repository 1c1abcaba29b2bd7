"""What is recorded of devices on a machine that the tests do not have: a stand-in for torch with an open H200."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from holdfast.journal import events as ev
from holdfast.probe.loops import torch_hooks
from tests.explain.made import Run

from ..probed import new_context, recorded


class OpenGpus:
    def __init__(self, *names: str) -> None:
        self._names = names

    def is_initialized(self) -> bool:
        return bool(self._names)

    def device_count(self) -> int:
        return len(self._names)

    def get_device_name(self, number: int) -> str:
        return self._names[number]


def optimizer_on(*kinds: str) -> Any:
    tensors = [SimpleNamespace(device=SimpleNamespace(type=kind, index=0)) for kind in kinds]
    return SimpleNamespace(param_groups=[{"params": tensors}])


def seen(
    folder: Path, monkeypatch: pytest.MonkeyPatch, *parameters: str, **opened: OpenGpus
) -> ev.FrameworkSeen:
    for name in ("tensorflow", "jax"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    parts = {"cuda": OpenGpus(), **opened}
    torch = SimpleNamespace(__version__="2.9.0+cu128", get_num_threads=lambda: 16, **parts)
    monkeypatch.setitem(sys.modules, "torch", torch)  # type: ignore[arg-type]
    context = new_context(folder / "devices")
    torch_hooks.read_devices(context, optimizer_on(*parameters))
    context.frameworks.record_devices()
    (event,) = recorded(context, ev.FrameworkSeen)
    return event


def test_an_open_h200_is_recorded_as_cuda(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    event = seen(tmp_path, monkeypatch, "cuda", "cuda", cuda=OpenGpus("NVIDIA H200", "NVIDIA H200"))
    assert event.devices == ["NVIDIA H200", "NVIDIA H200"]
    assert event.device_kinds == ["cuda", "cuda"]
    assert event.parameters_on == ["cuda"]


def test_a_gpu_of_intel_is_recorded_as_xpu(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    event = seen(tmp_path, monkeypatch, "xpu", xpu=OpenGpus("Intel(R) Data Center GPU Max 1550"))
    assert (event.device_kinds, event.parameters_on) == (["xpu"], ["xpu"])


def test_a_gpu_that_nobody_opened_stays_closed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    event = seen(tmp_path, monkeypatch, "cpu")
    assert (event.devices, event.device_kinds, event.parameters_on) == (["cpu"], ["cpu"], ["cpu"])
    assert event.threads == {"intra_op": 16}


@pytest.mark.parametrize("opened", [True, False])
def test_what_is_recorded_of_an_h200_is_blamed_only_where_it_was_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, opened: bool
) -> None:
    kind = "cuda" if opened else "cpu"
    event = seen(tmp_path, monkeypatch, kind, cuda=OpenGpus("NVIDIA H200") if opened else OpenGpus())
    run = Run(tmp_path)
    run.supervisor(ev.MachineRead(gpus=[{"name": "NVIDIA H200", "total_bytes": 140 << 30, "used_bytes": 0}]))
    run.probe(ev.FrameworkSeen(name="torch", version="2.9.0+cu128", built_with_cuda=True), event)
    run.fit()
    run.epochs([100, 100, 100])
    run.ended(0)
    assert [one.cause for one in run.verdict().findings if one.cause == "gpu-not-used"] == (
        [] if opened else ["gpu-not-used"]
    )
