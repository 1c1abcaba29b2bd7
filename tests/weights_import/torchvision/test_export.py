"""Imported detectors of torchvision leave again as a file of each format, which finds what the model finds."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from PIL import Image

from holdfast.cli.main import main
from holdfast.detectors import model_file
from holdfast.detectors.build import build
from holdfast.weights_import.torchvision.torchvision_file import TorchvisionFile
from holdfast.weights_import.torchvision.torchvision_model import arrays_for
from tests.torchvision_parity import made_weights
from tests.torchvision_parity.reference import image_of
from tests.torchvision_parity.weights_of import shapes_of, spec_of
from tests.weights_import.torchvision import written_state_dict as written

pytestmark = [pytest.mark.hot, pytest.mark.proof]
SIDES = {
    "ssdlite320_mobilenet_v3_large": 320, "ssd300_vgg16": 300, "retinanet_resnet50_fpn": 128,
    "fasterrcnn_mobilenet_v3_large_fpn": 160,
}  # fmt: skip


@pytest.mark.parametrize("to", ["saved_model", "onnx", "tflite"])
@pytest.mark.parametrize("name", SIDES)
def test_the_written_file_finds_what_the_model_finds(
    name: str, to: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if to == "onnx":
        pytest.importorskip("onnxruntime")
        pytest.importorskip("tf2onnx")
    detector = build(spec_of(name, SIDES[name]))
    entries, storages = written.entries_of(made_weights.make(shapes_of(detector)))
    path = written.zipped(written.state(entries), storages, tmp_path / f"{name}.pth")
    model_file.fill(detector, arrays_for(TorchvisionFile(path), detector))
    model_file.save(detector, tmp_path / "model.npz")
    Image.fromarray(image_of(SIDES[name])).save(tmp_path / "image.png")
    command = ["export", str(tmp_path / "model.npz"), "--to", to, "--out", str(tmp_path / "out"), "--json"]
    code = main([*command, "--images", str(tmp_path / "image.png")])
    printed = capsys.readouterr()
    assert code == 0, printed.err
    report = json.loads(printed.out)
    assert report["detections"] > 10
    assert report["unmatched"] == 0
    assert report["largest_box_difference_px"] < 0.05
    assert report["largest_score_difference"] < 1e-3
