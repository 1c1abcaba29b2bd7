"""What is recorded of torch's GradScaler: steps that it leaves out, and the size of gradients that are still scaled."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from holdfast.journal.events import ScalerSeen
from holdfast.probe.loop_data.loss_scaler import LossScaler
from tests.probe.probed import new_context, recorded

torch: Any = pytest.importorskip("torch")
pytestmark = pytest.mark.hot


def _trained(folder: Path, steps: int, *, broken: bool = False, unscales: bool = False) -> ScalerSeen:
    context = new_context(folder)
    seen = LossScaler(context)
    net = torch.nn.Linear(3, 1)
    optimizer = torch.optim.SGD(net.parameters(), 0.1)
    optimizer.register_step_post_hook(lambda *_: seen.optimizer_stepped())
    scaler = torch.amp.GradScaler("cpu")
    for _ in range(steps):
        optimizer.zero_grad()
        loss = (net(torch.ones(4, 3)).half() * (float("inf") if broken else 1.0)).float().mean()
        scaled = scaler.scale(loss)
        seen.scaled(loss, scaled)
        assert torch.equal(seen.original(scaled), loss.detach())
        seen.backward_begins(scaled)
        scaled.backward()
        if unscales:
            scaler.unscale_(optimizer)
        torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        token = seen.step_begins(scaler, optimizer)
        scaler.step(optimizer)
        seen.step_ends(token)
        scaler.update()
    seen._write()
    return recorded(context, ScalerSeen)[-1]


def test_gradients_that_are_clipped_while_they_are_scaled(tmp_path: Path) -> None:
    seen = _trained(tmp_path, 9)
    assert (seen.steps, seen.skipped, seen.unscaled, seen.scale) == (9, 0, False, 65536.0)
    assert seen.norms == pytest.approx([1.0] * 3, rel=1e-3)


def test_gradients_that_the_script_has_unscaled(tmp_path: Path) -> None:
    seen = _trained(tmp_path, 9, unscales=True)
    assert (seen.unscaled, seen.norms) == (True, [])


def test_steps_that_are_left_out(tmp_path: Path) -> None:
    seen = _trained(tmp_path, 20, broken=True)
    assert (seen.skipped, seen.in_a_row, seen.longest) == (20, 20, 20)
    assert (seen.half, seen.loss_finite) == (True, False)
