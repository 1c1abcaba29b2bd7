"""Gradients against updates, in loops of the user's own."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from holdfast.journal.events import UpdatesCounted
from holdfast.probe.runtime.context import ProbeContext
from tests.probe.probed import new_context, recorded


class Loop:
    """Batches whose gradients are taken, and an optimizer that is asked for an update now and then."""

    def __init__(self, folder: Path) -> None:
        self.context: ProbeContext = new_context(folder)
        self.counts = self.context.update_counts

    def run(
        self, batches: int, every: int, optimizer: Any = None, losses: float = 1.0
    ) -> UpdatesCounted | None:
        for batch in range(1, batches + 1):
            self.counts.taken(losses if batch < batches // 2 else losses / 2)
            if batch % every == 0:
                self.counts.updated(optimizer)
        self.counts.at_exit()
        return next(iter(recorded(self.context, UpdatesCounted)), None)


@pytest.fixture
def loop(tmp_path: Path) -> Loop:
    return Loop(tmp_path / "run")


def test_gradients_that_are_added_up(loop: Loop) -> None:
    seen = loop.run(300, every=100)
    assert seen is not None
    assert (seen.passes, seen.updates, seen.each) == (300, 3, None)
    assert (seen.first, seen.newest) == (1.0, 0.5)


def test_an_update_for_each_batch(loop: Loop) -> None:
    assert loop.run(300, every=1) is None


def test_an_optimizer_that_adds_up_by_itself(loop: Loop) -> None:
    loop.counts.adds_up(100)
    loop.context.heartbeat.step = 300
    loop.counts.at_exit()
    (seen,) = recorded(loop.context, UpdatesCounted)
    assert (seen.passes, seen.updates, seen.each) == (300, 3, 100)


def test_an_optimizer_that_asks_for_gradients_itself(loop: Loop) -> None:
    """LBFGS evaluates its closure many times for one update."""
    assert loop.run(300, every=20, optimizer=SimpleNamespace(defaults={"max_iter": 20})) is None


def test_passes_over_data(loop: Loop) -> None:
    for _ in range(4):
        loop.context.loop._iterator = lambda: None
        loop.run(50, every=50)
    assert recorded(loop.context, UpdatesCounted)[-1].data_passes == 4
