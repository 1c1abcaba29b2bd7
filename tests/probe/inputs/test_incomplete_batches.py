"""Rows that a loader of torch reads and drops; data without a batch, though it has rows."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from holdfast.journal.events import DatasetSeen, IncompleteBatchDropped
from holdfast.probe.inputs.datasets import rows_and_batch

from ..probed import run

_WORKERS = """
import torch
from torch.utils.data import DataLoader, IterableDataset, TensorDataset, get_worker_info


class Stream(IterableDataset):
    def __iter__(self):
        info = get_worker_info()
        first, every = (info.id, info.num_workers) if info else (0, 1)
        for number in range(first, {rows}, every):
            yield torch.tensor([float(number)])


net = torch.nn.Linear(1, 1)
optimizer = torch.optim.SGD(net.parameters(), 1e-3)
if __name__ == "__main__":
    for epoch in range({epochs}):
        for x in DataLoader({data}, batch_size=8, num_workers={workers}, drop_last={drop}):
            net(x).sum().backward()
            optimizer.step()
"""


def _ran(folder: Path, **values: Any) -> Any:
    pytest.importorskip("torch")
    given = {"rows": 14, "epochs": 3, "data": "Stream()", "workers": 2, "drop": True, **values}
    script = folder / "stream.py"
    script.write_text(_WORKERS.format(**given))
    told = run(script, folder=folder / "run", cwd=folder)
    assert told.code == 0, told.output
    return told


@pytest.mark.hot
def test_each_worker_has_less_than_a_batch(tmp_path: Path) -> None:
    dropped = _ran(tmp_path).all(IncompleteBatchDropped)
    assert {(one.rows, one.batch, one.worker, one.workers) for one in dropped} == {(7, 8, 0, 2), (7, 8, 1, 2)}
    assert len(dropped) <= 4  # the third pass says nothing new


@pytest.mark.hot
def test_without_workers(tmp_path: Path) -> None:
    dropped = _ran(tmp_path, rows=5, workers=0).all(IncompleteBatchDropped)
    assert {(one.rows, one.batch, one.worker, one.workers) for one in dropped} == {(5, 8, None, 0)}


@pytest.mark.hot
@pytest.mark.parametrize("values", [{"drop": False}, {"rows": 40}, {"rows": 0}])
def test_nothing_is_said_of_other_loaders(tmp_path: Path, values: dict[str, Any]) -> None:
    assert _ran(tmp_path, **values).all(IncompleteBatchDropped) == []


@pytest.mark.hot
def test_a_dataset_with_a_length(tmp_path: Path) -> None:
    told = _ran(tmp_path, data="TensorDataset(torch.zeros(5, 1))", workers=0, epochs=1)
    nodes = told.all(DatasetSeen)[0].nodes
    assert [node["op"] for node in nodes] == ["source", "batch"]
    assert (nodes[0]["cardinality"], nodes[1]["batch_size"], nodes[1]["drop_remainder"]) == (5, 8, True)


def test_a_dataset_of_the_users_own_for_keras() -> None:
    own = SimpleNamespace(x=[0] * 90, y=[0] * 90, batch_size=128)
    assert rows_and_batch(own) == (90, 128)
    without_files = SimpleNamespace(paths=[], classes=["a", "b"], batch_size=32)
    assert rows_and_batch(without_files) == (None, None)
    assert rows_and_batch(SimpleNamespace(x=[1], batch_size=4, batches_ahead=2)) == (None, None)
