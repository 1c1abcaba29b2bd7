"""Files of a training that diverged are refused; the message names the first tensor."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from holdfast.errors import WeightsDoNotFit
from holdfast.weights_import.finite_weights import refuse_unless_finite
from holdfast.weights_import.torchvision.torchvision_model import _converted

pytestmark = pytest.mark.hot


def test_finite_numbers_pass() -> None:
    for array in (np.zeros((0, 3), np.float32), np.array([-3e38, 0.0], np.float32), np.arange(3)):
        refuse_unless_finite(array, "w", Path("mine.pth"))


def test_a_state_dict_with_nan_is_refused() -> None:
    values = np.array([1.0, np.nan, -np.inf, 2.0], np.float16)
    file: Any = SimpleNamespace(
        path=Path("mine.pth"), epsilon=None, architecture=None, arrays=lambda: iter([("norm.weight", values)])
    )
    variable = SimpleNamespace(path="backbone/norm/gamma", shape=(4,))
    with pytest.raises(WeightsDoNotFit, match="the first tensor with one is norm") as refused:
        _converted(file, {"norm.weight": variable})
    assert refused.value.found == ("2 of its 4 values are NaN or infinite",)
    assert refused.value.where == "mine.pth"
