"""Losses on a GPU are read when their copies are over, and never waited for. Pretended: torch and its GPU."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

import pytest

from holdfast.probe.loop_data.gpu_losses import GpuLosses
from holdfast.probe.runtime import torch_values


class Place:
    """A number in pinned memory."""

    made = 0

    def __init__(self) -> None:
        Place.made += 1
        self.dtype, self.value = "float32", float("nan")

    def copy_(self, other: Any, non_blocking: bool) -> None:
        assert non_blocking
        self.value = other.value

    def __float__(self) -> float:
        return self.value


class Gpu:
    """Copies end when the test says so."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.over, self.recording, self.now = 0, False, 0.0
        self._copies = 0
        gpu = self

        class Event:
            def record(self, stream: str) -> None:
                assert stream == "stream of cuda:0"
                gpu._copies += 1
                self.number = gpu._copies

            def query(self) -> bool:
                return self.number <= gpu.over

        cuda = SimpleNamespace(
            Event=Event, is_current_stream_capturing=lambda: self.recording,
            current_stream=lambda device: f"stream of {device}",
        )  # fmt: skip
        torch = SimpleNamespace(cuda=cuda, empty=lambda shape, dtype, device, pin_memory: Place())
        monkeypatch.setitem(sys.modules, "torch", torch)
        Place.made = 0

    def loss(self, value: float) -> Any:
        one = SimpleNamespace(value=value, dtype="float32", device="cuda:0")
        one.reshape = lambda shape: one
        return one


def _losses(gpu: Gpu) -> tuple[GpuLosses, list[tuple[int, float]], list[Any]]:
    read: list[tuple[int, float]] = []
    at_exit: list[Any] = []
    model = object()

    def loop_step(of: object, logs: dict[str, float], step: int) -> None:
        assert of is model
        read.append((step, logs["loss"]))

    loop, losses = SimpleNamespace(model=lambda: model), SimpleNamespace(loop_step=loop_step)
    context: Any = SimpleNamespace(loop=loop, losses=losses, at_exit=at_exit)
    return GpuLosses(context, monotonic=lambda: gpu.now), read, at_exit


def test_a_loss_is_read_at_a_later_step_when_its_copy_is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    gpu = Gpu(monkeypatch)
    losses, read, _ = _losses(gpu)
    losses.stepped(1, gpu.loss(0.5))
    losses.stepped(2, gpu.loss(0.25))
    assert read == []
    gpu.over = 1
    losses.stepped(3, gpu.loss(0.125))
    assert read == [(1, 0.5)]
    gpu.over = 3
    losses.read_finished()
    assert read == [(1, 0.5), (2, 0.25), (3, 0.125)]
    losses.stepped(4, gpu.loss(0.1))
    assert Place.made == 2, "memory of copies that are over is used again"


def test_after_the_first_steps_a_loss_is_copied_every_twentieth_of_a_second(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    gpu = Gpu(monkeypatch)
    losses, read, _ = _losses(gpu)
    gpu.over = 10_000
    for step in range(1, 1065):
        gpu.now = step / 64  # exact
        losses.stepped(step, gpu.loss(float(step)))
    losses.read_finished()
    steps = [step for step, _ in read]
    assert steps[:64] == list(range(1, 65))
    assert len(steps) - 64 == 250, "at every fourth step"
    assert all(value == step for step, value in read)


def test_nothing_is_copied_while_a_cuda_graph_is_recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    gpu = Gpu(monkeypatch)
    losses, read, _ = _losses(gpu)
    gpu.recording = True
    losses.stepped(1, gpu.loss(0.5))
    gpu.recording, gpu.over = False, 9
    losses.stepped(2, gpu.loss(0.25))
    losses.read_finished()
    assert read == [(2, 0.25)]


def test_a_gpu_that_never_answers_costs_no_memory_and_a_second_at_the_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    gpu = Gpu(monkeypatch)
    losses, read, at_exit = _losses(gpu)
    for step in range(1, 200):
        gpu.now += 1.0
        losses.stepped(step, gpu.loss(1.0))
    assert Place.made == 64

    def slept(seconds: float) -> None:
        gpu.now += seconds

    monkeypatch.setattr("holdfast.probe.loop_data.gpu_losses.time.sleep", slept)
    before = gpu.now
    (read_all,) = at_exit
    read_all()
    assert read == []
    assert gpu.now - before == pytest.approx(1.0, abs=0.02)


class Tensor:
    def __init__(self, kind: str, values: int) -> None:
        self.device, self._values = SimpleNamespace(type=kind), values

    def detach(self) -> Tensor:
        return self

    def numel(self) -> int:
        return self._values

    def cpu(self) -> str:
        return "a copy"


def test_values_are_copied_from_a_gpu_unless_they_are_many_or_a_graph_is_recorded(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    gpu = Gpu(monkeypatch)
    here = Tensor("cpu", 10**9)
    assert torch_values.on_host(here) is here
    assert torch_values.on_host(Tensor("cuda", 1000)) == "a copy"
    assert torch_values.on_host(Tensor("cuda", 10**9)) is None
    assert torch_values.on_host(Tensor("mps", 10)) is None
    gpu.recording = True
    assert torch_values.on_host(Tensor("cuda", 1000)) is None
