"""When the small weight is looked at: at first always, then as the cost allows, and wherever the loss jumps."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from holdfast.probe.state import finiteness


class Weight:
    """A variable in the host's memory that counts how often it is read."""

    device = "/CPU:0"
    shape = (3,)

    def __init__(self) -> None:
        self.reads = 0

    def numpy(self) -> Any:
        self.reads += 1
        return np.ones(3, np.float32)


class Model:
    def __init__(self) -> None:
        self.trainable_variables = [Weight()]


def looked(sentinel: finiteness.Sentinel, weight: Weight, losses: list[float], step_ns: int) -> list[bool]:
    seen = []
    for loss in losses:
        before = weight.reads
        assert sentinel.check(step_ns, loss)
        seen.append(weight.reads > before)
        assert sentinel.last is (True if seen[-1] else None)
    return seen


def test_it_is_looked_at_first_and_where_the_loss_jumps(monkeypatch: Any) -> None:
    clock = iter(range(0, 10**12, 1000))  # every look takes a microsecond
    monkeypatch.setattr(finiteness.time, "thread_time_ns", lambda: next(clock))
    monkeypatch.setattr(finiteness, "in_host_memory", lambda value: True)
    model = Model()
    sentinel, weight = finiteness.Sentinel(model), model.trainable_variables[0]
    quick = 1000  # a step as short as a look: one look in 333 may be paid
    assert all(looked(sentinel, weight, [1.0] * 200, quick))
    assert not any(looked(sentinel, weight, [1.0, 0.9, 1.1] * 100, quick))
    assert looked(sentinel, weight, [1.0, 0.0, 0.0, 3.0, 3.1], quick) == [False, True, False, True, False]


def test_a_sparse_gradient_of_torch_is_passed_over() -> None:
    """NumPy has no such array, and to make it dense may take the memory of the whole table."""
    torch = pytest.importorskip("torch")
    sparse = torch.eye(3).to_sparse()
    assert finiteness.small_gradient([torch.ones(2), sparse]).tolist() == [1.0, 1.0]
    assert finiteness.small_gradient([sparse]) is None
