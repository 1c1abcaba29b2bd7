"""Batch normalisation and dropout of a torch loop, by what its backward pass keeps."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from holdfast.journal.events import DropoutSeen, NormalisationSeen
from tests.probe.loops.test_torch_gradients import Loop
from tests.probe.probed import recorded

torch: Any = pytest.importorskip("torch")
pytestmark = pytest.mark.hot


def _train(folder: Path, *layers: Any, steps: int = 140, evaluates: bool = False) -> Loop:
    torch.manual_seed(0)
    loop = Loop(folder)
    model = torch.nn.Sequential(torch.nn.Linear(6, 16), *layers, torch.nn.Linear(16, 3))
    optimizer = loop.optimizer(model)
    x = torch.randn(64, 6) * 20 + 30
    y = torch.randint(0, 3, (64,))
    for step in range(steps):
        loop.context.heartbeat.step = step
        loss = torch.nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loop.backward(loss)
        loop.step(optimizer)
    if evaluates:
        loop.context.torch_layers.modes.switched_to_inference()
    for action in reversed(loop.context.at_exit):
        action()
    return loop


def _seen(loop: Loop, kind: type[Any]) -> Any:
    found = recorded(loop.context, kind)
    assert len(found) == 1
    return found[0]


@pytest.mark.parametrize(("momentum", "left"), [(1e-4, (0.9, 1.0)), (0.1, (-0.2, 0.2))])
def test_averages_against_a_batch(tmp_path: Path, momentum: float, left: tuple[float, float]) -> None:
    norm = torch.nn.BatchNorm1d(16, momentum=momentum)
    seen = _seen(_train(tmp_path / "run", norm, torch.nn.ReLU()), NormalisationSeen)
    assert len(seen.layers) == 1 and seen.evaluated is False
    assert left[0] <= seen.layers[0]["left"] <= left[1]
    assert (seen.layers[0]["times"] > 4) is (momentum < 0.01)


def test_that_it_was_switched_to_inference(tmp_path: Path) -> None:
    loop = _train(tmp_path / "run", torch.nn.BatchNorm1d(16), evaluates=True)
    assert _seen(loop, NormalisationSeen).evaluated is True


@pytest.mark.parametrize(
    "norm", [torch.nn.BatchNorm1d(16).eval(), torch.nn.BatchNorm1d(16, track_running_stats=False)]
)
def test_averages_that_are_not_made_of_batches(tmp_path: Path, norm: Any) -> None:
    assert recorded(_train(tmp_path / "run", norm).context, NormalisationSeen) == []


@pytest.mark.parametrize("rate", [0.1, 0.5, 0.9])
def test_the_share_that_is_dropped(tmp_path: Path, rate: float) -> None:
    loop = _train(tmp_path / "run", torch.nn.Dropout(rate), torch.nn.ReLU(), torch.nn.Dropout(0.2), steps=12)
    assert _seen(loop, DropoutSeen).rates == [pytest.approx(rate), pytest.approx(0.2)]


class _Scaled(torch.nn.Module):  # type: ignore[misc, name-defined]
    def forward(self, x: Any) -> Any:
        return x * (torch.arange(16) % 2 == 0) * 3.0


def test_a_mask_that_is_no_dropout(tmp_path: Path) -> None:
    assert recorded(_train(tmp_path / "run", _Scaled(), steps=12).context, DropoutSeen) == []
