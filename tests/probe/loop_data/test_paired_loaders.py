"""Two loaders of torch that are drawn from in turn."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from holdfast.journal.events import PairedLoadersSeen
from holdfast.probe.loop_data.paired_loaders import PairedLoaders
from tests.probe.probed import new_context, recorded

torch: Any = pytest.importorskip("torch")
pytestmark = pytest.mark.hot


def _loader(seed: int | None, rows: int = 40, shuffle: bool = True, generator: Any = None) -> Any:
    if seed is not None:
        generator = torch.Generator().manual_seed(seed)
    data = torch.utils.data.TensorDataset(torch.arange(rows))
    return torch.utils.data.DataLoader(data, batch_size=2, shuffle=shuffle, generator=generator)


def _seen(folder: Path, first: Any, second: Any, batches: int = 10) -> list[Any]:
    context = new_context(folder)
    paired = PairedLoaders(context)
    iterators = iter(first), iter(second)
    for _ in range(batches):
        for one in iterators:
            paired.changed(one)
            next(one)
    return recorded(context, PairedLoadersSeen)


def test_one_generator_makes_two_orders(tmp_path: Path) -> None:
    shared = torch.Generator().manual_seed(3)
    seen = _seen(tmp_path / "run", _loader(None, generator=shared), _loader(None, generator=shared))
    assert [(one.rows, one.shared_generator) for one in seen] == [(40, True)]


@pytest.mark.parametrize(
    ("first", "second", "found"),
    [
        (_loader(None), _loader(None), True),
        (_loader(1), _loader(2), True),
        (_loader(1), _loader(1), False),  # the same order
        (_loader(None), _loader(None, shuffle=False), False),
        (_loader(None), _loader(None, rows=50), False),  # they need not belong together
    ],
)
def test_two_orders(tmp_path: Path, first: Any, second: Any, found: bool) -> None:
    assert bool(_seen(tmp_path / "run", first, second)) is found


def test_a_validation_after_each_epoch(tmp_path: Path) -> None:
    context = new_context(tmp_path / "run")
    paired = PairedLoaders(context)
    for _ in range(10):
        for one in (iter(_loader(None)), iter(_loader(None))):  # iterators of their own at each epoch
            paired.changed(one)
    assert recorded(context, PairedLoadersSeen) == []
