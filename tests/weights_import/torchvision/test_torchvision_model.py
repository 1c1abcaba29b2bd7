"""A state dict of almost the right network is refused; the message names the first tensor that does not fit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from holdfast.detectors.build import build
from holdfast.errors import WeightsDoNotFit
from holdfast.weights_import.torchvision.torchvision_file import TorchvisionFile
from holdfast.weights_import.torchvision.torchvision_model import arrays_for
from tests.torchvision_parity.weights_of import shapes_of, spec_of
from tests.weights_import.torchvision import written_state_dict as written

pytestmark = pytest.mark.hot
SSDLITE = "ssdlite320_mobilenet_v3_large"
FIRST = "backbone.features.0.0.0.weight"  # of the network
LATER = "head.regression_head.module_list.5.1.bias"


@pytest.fixture(scope="module")
def network() -> tuple[Any, dict[str, np.ndarray]]:
    detector = build(spec_of(SSDLITE, 320))
    return detector, {name: np.zeros(shape, np.float32) for name, shape in shapes_of(detector).items()}


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({LATER: np.zeros(8)}, f"{LATER} is (8,), and (24,) fits"),
        ({LATER: None}, f"{LATER} is missing"),
        ({"extra.weight": np.zeros(3)}, "extra.weight is (3,), and there is no such tensor"),
        ({LATER: None, FIRST: np.zeros((8, 3, 3, 3))}, f"{FIRST} is (8, 3, 3, 3), and (16, 3, 3, 3) fits"),
        ({LATER: np.zeros(8), FIRST: np.zeros((3, 3, 3, 16))}, f"{FIRST} is (3, 3, 3, 16), and"),
    ],
)
def test_the_first_tensor_that_does_not_fit_is_named(
    changed: dict[str, np.ndarray | None], said: str, network: tuple[Any, Any], tmp_path: Path
) -> None:
    detector, arrays = network
    given = {name: array for name, array in {**arrays, **changed}.items() if array is not None}
    entries, storages = written.entries_of(
        {name: array.astype(np.float32, copy=False) for name, array in given.items()}
    )
    path = written.zipped(written.state(entries), storages, tmp_path / "other.pth")
    with pytest.raises(WeightsDoNotFit) as refused:
        arrays_for(TorchvisionFile(path), detector)
    assert refused.value.what.startswith(f"the file is not torchvision's {SSDLITE}: {said}")
    assert refused.value.where == str(path)
