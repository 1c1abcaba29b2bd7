"""An imported Faster R-CNN leaves again as a file of each format, which finds what the model finds."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from PIL import Image

from holdfast.cli.main import main
from holdfast.detectors import model_file

from . import seeded
from .test_same_answers import network

pytestmark = [pytest.mark.hot, pytest.mark.proof]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("imported")
    model_file.save(network("faster-rcnn", folder), folder / "model.npz")
    return folder / "model.npz"


@pytest.mark.parametrize("to", ["saved_model", "onnx", "tflite"])
def test_the_written_file_finds_what_the_model_finds(
    to: str, model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if to == "onnx":
        pytest.importorskip("onnxruntime")
        pytest.importorskip("tf2onnx")
    Image.fromarray(seeded.image()[0]).save(tmp_path / "image.png")
    command = ["export", str(model), "--to", to, "--out", str(tmp_path / "out"), "--json"]
    code = main([*command, "--images", str(tmp_path / "image.png")])
    printed = capsys.readouterr()
    assert code == 0, printed.err
    report = json.loads(printed.out)
    assert report["detections"] > 10
    assert report["unmatched"] == 0
    assert report["largest_box_difference_px"] < 0.05
    assert report["largest_score_difference"] < 1e-3
