"""Training without an optimizer."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from holdfast.journal.events import LoopSeen, WeightsMoved
from tests.probe.probed import new_context, recorded


class _Array:
    """As little of a tensor as is asked for."""

    device = "/device:CPU:0"

    def __init__(self, values: Any) -> None:
        self.values = np.asarray(values, "float32")
        self.shape = self.values.shape

    def numpy(self) -> Any:
        return self.values

    _numpy = numpy


@pytest.mark.parametrize(("changes", "steps"), [(("w", "b"), 6), (("w",), 0), ((), 0)])
def test_weights_that_differ_from_gradient_to_gradient(
    tmp_path: Path, changes: tuple[str, ...], steps: int
) -> None:
    context = new_context(tmp_path / "run")
    values = {"w": np.ones((4, 2)), "b": np.zeros(2), "v": np.ones(3), "u": np.ones(1)}
    for _ in range(6):
        for name in changes:
            values[name] = values[name] - 0.1
        context.hand_updates.taken(lambda: [_Array(one) for one in values.values()])
    assert context.heartbeat.step == steps
    assert [one.by for one in recorded(context, LoopSeen)] == (["by_hand"] if steps else [])


def test_one_weight_alone_may_be_an_image(tmp_path: Path) -> None:
    context = new_context(tmp_path / "run")
    for number in range(5):
        context.hand_updates.taken(lambda: [_Array([float(number)])])  # noqa: B023
    assert (context.heartbeat.step, context.hand_updates.over) == (0, True)


def test_how_far_a_step_moves_them(tmp_path: Path) -> None:
    """At every doubling of their number: a learning rate that lies in a closure shows nowhere else."""
    context = new_context(tmp_path / "run")
    values, size = [np.ones(8), np.zeros((4, 2))], 0.5
    for _ in range(20):
        context.hand_updates.taken(lambda: [_Array(one) for one in values])  # noqa: B023
        values, size = [one - size for one in values], size / 2
    moved = recorded(context, WeightsMoved)
    assert [(one.since, one.step) for one in moved] == [("step", 4), ("step", 8), ("step", 16)]
    changes = [one.variables[0]["change"] for one in moved]
    assert changes == pytest.approx([2**-4, 2**-8, 2**-16], rel=1e-2)
