"""Operations in float16 whose finite inputs gave a result that is not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from holdfast.journal.events import HalfRangeLeft
from holdfast.probe.loop_data import half_range
from tests.probe.probed import new_context, recorded

torch: Any = pytest.importorskip("torch")
pytestmark = pytest.mark.hot


def _values(size: float, *shape: int) -> Any:
    return torch.full(shape, size, dtype=torch.float16, requires_grad=True)


def test_a_sum_of_squares() -> None:
    features = _values(4.0, 6_000)
    loss = torch.log((features.pow(2).sum() + 1.0) * 1.0).float()
    assert half_range.left_range(loss) == (["pow", "sum", "add", "mul"], 4.0)


def test_a_matrix_product() -> None:
    queries, keys = _values(100.0, 8, 64), _values(50.0, 64, 8)
    loss = torch.softmax(queries @ keys, -1).float().mean()
    assert half_range.left_range(loss) == (["mm"], 100.0)


def test_a_number_beyond_float16_before_it_is_rounded() -> None:
    energy = torch.full((4,), 1e6, requires_grad=True)
    assert half_range.left_range(energy.half().float().mean()) == (["tocopy"], 0.0)


@pytest.mark.parametrize(
    "loss",
    [
        lambda: torch.log(_values(0.0, 4)).float().mean(),  # in any format
        lambda: (_values(1.0, 4) / _values(0.0, 4)).float().mean(),
        lambda: (_values(float("inf"), 4) * 2.0).float().mean(),  # it came in like that
        lambda: (torch.full((4,), 3e38, requires_grad=True) * 10.0).mean(),  # float32
        lambda: torch.full((4,), 3e38, dtype=torch.bfloat16, requires_grad=True).mul(10.0).float().mean(),
    ],
)
def test_what_float16_has_not_broken(loss: Any) -> None:
    assert half_range.left_range(loss()) is None


@pytest.mark.parametrize(("size", "found"), [(100.0, 1), (1.0, 0)])
def test_it_is_looked_for_at_the_first_loss_that_is_not_finite(
    tmp_path: Path, size: float, found: int
) -> None:
    context = new_context(tmp_path / "run")
    for step in range(3):
        loss = (_values(1.0 if step < 1 else size, 16) * 1000.0).float().mean()
        context.half_range.backward_begins(loss, loss.detach())
        context.heartbeat.step += 1
    seen = recorded(context, HalfRangeLeft)
    assert len(seen) == found
    assert [(one.step, one.operations, one.largest) for one in seen] == [(2, ["mul"], 0.0)] * found
