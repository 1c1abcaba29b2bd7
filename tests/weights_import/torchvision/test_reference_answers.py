"""Each architecture of torchvision against numbers that torchvision gave, stored: made weights and a made image.

`python -m tests.torchvision_parity.store_reference` writes them; `python -m tests.torchvision_parity` compares more.
Those that share their layers with others are left to `make proof`.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from holdfast.detectors import model_file
from holdfast.detectors.build import build
from holdfast.weights_import.torchvision.torchvision_file import TorchvisionFile
from holdfast.weights_import.torchvision.torchvision_model import arrays_for
from tests.torchvision_parity import compared, made_weights
from tests.torchvision_parity.reference import REFERENCE, SIDES, image_of, picked
from tests.torchvision_parity.weights_of import shapes_of, spec_of
from tests.weights_import.torchvision import written_state_dict as written

pytestmark = pytest.mark.hot
SLOW = ("retinanet_resnet50_fpn", "fasterrcnn_resnet50_fpn", "fasterrcnn_resnet50_fpn_v2")


@pytest.mark.parametrize(
    "name", [pytest.param(one, marks=pytest.mark.proof if one in SLOW else ()) for one in SIDES]
)
def test_the_answers_are_torchvisions(name: str, tmp_path: Path) -> None:
    detector = build(spec_of(name, SIDES[name]))
    arrays = made_weights.make(shapes_of(detector))
    entries, storages = written.entries_of(arrays)
    path = written.zipped(written.state(entries), storages, tmp_path / f"{name}.pth")
    model_file.fill(detector, arrays_for(TorchvisionFile(path), detector))
    if (
        "mobilenet_v3_large_fpn" in name
    ):  # asked at 320 pixels, where the low-resolution form proposes fewer regions
        detector.numbers = replace(detector.numbers, proposals=1000)
    wanted = json.loads(REFERENCE.read_text())[name]
    found = compared.compiled(detector, lambda image: (detector(image), detector.detect(image)))
    (logits, offsets, *_), detections = found(image_of(SIDES[name])[None])
    if detector.spec.detector != "faster-rcnn":
        _near(picked(compared.heads_first(detector, logits[0])), wanted["logits"])
        _near(picked(offsets[0]), wanted["offsets"])
    boxes, scores, labels = compared.our_detections(detector, tuple(part[0] for part in detections))
    assert len(scores) == wanted["detections"]
    for box, score, label in wanted["best"]:  # near-equal scores may change places
        same = (labels == label) & (np.abs(scores - score) < 1e-4) & (np.abs(boxes - box).max(axis=-1) < 0.02)
        assert same.any(), (box, score, label)


def _near(ours: Any, theirs: list[float]) -> None:
    np.testing.assert_allclose(ours, theirs, atol=1e-4 * float(np.abs(theirs).max()))
