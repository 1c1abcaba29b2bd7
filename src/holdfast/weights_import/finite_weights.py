"""Weights that are no numbers are refused: a network that has one answers nothing, and no training brings it back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast.errors import WeightsDoNotFit


def refuse_unless_finite(array: NDArray[Any], name: str, where: Path) -> None:
    bad = int(array.size - np.isfinite(array).sum())
    if not bad:
        return
    raise WeightsDoNotFit(
        f"the file has weights that are not finite numbers; the first tensor with one is {name}",
        where=where,
        found=f"{bad:,} of its {array.size:,} values are NaN or infinite",
        change="give a checkpoint from before the training diverged",
    )
