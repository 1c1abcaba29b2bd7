"""`holdfast import FILE.pth`: what it writes, and what it refuses."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from holdfast.cli.main import main
from holdfast.detectors import model_file
from holdfast.detectors.build import build
from holdfast.weights_import.torchvision.torchvision_file import TorchvisionFile
from tests.torchvision_parity import made_weights
from tests.torchvision_parity.weights_of import shapes_of, spec_of
from tests.weights_import.torchvision import written_state_dict as written

pytestmark = pytest.mark.hot
SSDLITE, MOBILE = "ssdlite320_mobilenet_v3_large", "fasterrcnn_mobilenet_v3_large_fpn"


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def state_dict(path: Path, shapes: dict[str, tuple[int, ...]]) -> dict[str, np.ndarray]:
    arrays = made_weights.make(shapes)
    entries, storages = written.entries_of(arrays)
    written.zipped(written.state(entries), storages, path)
    return arrays


def printed(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, Any]:
    assert main(["import", *words, "--json"]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def test_the_model_has_the_files_numbers_and_the_input_that_was_asked_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arrays = state_dict(tmp_path / "mine.pth", shapes_of(build(spec_of(SSDLITE, 320))))
    found = printed(capsys, "mine.pth")
    assert (found["written"], found["architecture"], found["input"]) == ("mine", SSDLITE, 320)
    assert (found["classes"][0], len(found["classes"])) == ("person", 90)
    spec, weights = model_file.read(tmp_path / "mine/model.npz")
    assert (spec.variant, spec.input) == ("torchvision", (320, 320))
    first = next(path for path in weights if path.endswith("backbone.features.0.0.0/kernel"))
    np.testing.assert_array_equal(
        weights[first], arrays["backbone.features.0.0.0.weight"].transpose(2, 3, 1, 0)
    )
    assert printed(capsys, "mine.pth", "--out", "small", "--input", "256")["input"] == 256
    assert model_file.read(tmp_path / "small/model.npz")[0].input == (256, 256)


def test_a_public_file_has_the_input_that_its_name_says(tmp_path: Path) -> None:
    shapes = {"backbone.body.0.0.weight": (16, 3, 3, 3), "roi_heads.box_predictor.cls_score.bias": (91,)}
    for name, side in (("mine", 320), (f"{MOBILE}-fb6a3cc7", 800), ("x_320_fpn-907ea3f9", 320)):
        state_dict(tmp_path / f"{name}.pth", shapes)
        file = TorchvisionFile(tmp_path / f"{name}.pth")
        assert (file.architecture.name, file.architecture.input) == (MOBILE, side)


@pytest.mark.parametrize("option", [("--classes", "a,b"), ("--epsilon", "0"), ("--input", "640")])
def test_options_of_a_state_dict_are_refused_for_a_config(
    option: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    Path("pipeline.config").write_text("model { }")
    assert main(["import", "pipeline.config", *option]) == 2
    assert f"{option[0]} belongs to a .pth file" in capsys.readouterr().err
