"""Passes over data, after steps were done: which of them gave nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.journal.events import LaterPassEmpty
from holdfast.probe.loops.data_passes import DataPasses
from tests.probe.probed import new_context, recorded

_GIVES = """
passes.begins()
for _ in range({batches}):
    passes.drew()
    if {trains}:
        heartbeat.step += 1
        passes.stepped()
passes.exhausted({dataset})
"""


def _run(folder: Path, *given: tuple[int, bool, int]) -> list[tuple[int, int, int]]:
    """Batches, whether they are trained on, and the dataset of each pass; all of them at the same line."""
    context = new_context(folder / "run")
    file = folder / "train.py"
    names = {"passes": DataPasses(context), "heartbeat": context.heartbeat}
    for batches, trains, dataset in given:
        source = _GIVES.format(batches=batches, trains=trains, dataset=dataset)
        exec(compile(source, str(file), "exec"), names)
    seen = recorded(context, LaterPassEmpty)
    assert all(one.where.endswith("train.py:8") for one in seen)
    return [(one.passes, one.step, one.trained) for one in seen]


def test_a_dataset_that_is_used_up(tmp_path: Path) -> None:
    empty = _run(tmp_path, (5, True, 7), *[(0, True, 7)] * 4)
    assert empty == [(1, 5, 1), (2, 5, 1), (4, 5, 1)]


def test_a_validation_without_a_batch(tmp_path: Path) -> None:
    empty = _run(tmp_path, *[(3, True, 1), (0, False, 2)] * 4)
    assert empty == [(1, 3, 0), (2, 6, 0), (4, 12, 0)]


@pytest.mark.parametrize(
    ("given", "empty"),
    [
        ([(4, False, 2)] * 3, []),  # nothing is trained
        ([(2, True, 1), *[(4, False, 2)] * 3], []),
        ([(2, True, 1), (0, False, 2), (4, False, 2)], [(1, 2, 0), (0, 2, 0)]),
        ([(2, True, 1), (0, False, 2), (4, False, 3)], [(1, 2, 0), (0, 2, 0)]),  # made again
        ([(2, True, 1), (0, True, 1), (2, True, 1), (0, True, 1)], [(1, 2, 1), (0, 4, 0), (1, 4, 2)]),
    ],
)
def test_data_that_comes_again(
    tmp_path: Path, given: list[tuple[int, bool, int]], empty: list[tuple[int, int, int]]
) -> None:
    assert _run(tmp_path, *given) == empty
