"""The first batch of Python code's that is not finite, before the network sees it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from holdfast.journal.events import BatchSeen
from holdfast.probe.inputs.python_batches import PythonBatches

from ..probed import new_context, recorded

pytestmark = pytest.mark.hot


@pytest.mark.parametrize(("value", "found"), [(np.nan, 1), (np.inf, 1), (3e38, 0)])
def test_the_first_one_is_recorded_once(value: float, found: int, tmp_path: Path) -> None:
    context = new_context(tmp_path / "run")
    batches, x = PythonBatches(context), np.ones((4, 3), "float32")
    x[2] = value  # three of the largest overflow in a sum of float32, and are finite
    for _ in range(3):
        batches.given((np.ones((4, 3)), np.arange(4)))
        batches.given((x, np.arange(4)))
    seen = recorded(context, BatchSeen)
    assert len(seen) == found
    assert all(one.parts[0]["finite"] is False for one in seen)
