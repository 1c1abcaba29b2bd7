"""A file of torchvision for other classes: those it knows keep their numbers, in torchvision's own numbering."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from keras import ops

from holdfast.detectors.build import build
from holdfast.weights_import.torchvision.torchvision_model import fine_tune
from tests.torchvision_parity import made_weights
from tests.torchvision_parity.weights_of import shapes_of, spec_of
from tests.weights_import.torchvision import written_state_dict as written

pytestmark = pytest.mark.hot
DOG, COUNT = 18, 91  # torchvision's number of a dog, and of all classes with the background
Arrays = dict[str, np.ndarray]


def tuned(name: str, folder: Path) -> tuple[Arrays, Arrays, Any]:
    """The file's tensors, the weights of its network for a chip and a dog, and the report."""
    given = made_weights.make(shapes_of(build(spec_of(name, 160))))
    entries, storages = written.entries_of(given)
    path = written.zipped(written.state(entries), storages, folder / f"{name}.pth")
    detector, report = fine_tune(
        path, ("chip", "dog"), input_size=(160, 160), precision="float32", expected={}
    )
    return given, {one.path: ops.convert_to_numpy(one) for one in detector.variables}, report


def head(weights: Arrays, end: str) -> np.ndarray:
    (path,) = (path for path in weights if path.endswith(end))
    return weights[path]


def test_ssd_keeps_a_known_class_and_the_background(tmp_path: Path) -> None:
    given, weights, report = tuned("ssdlite320_mobilenet_v3_large", tmp_path)
    assert (report.fresh, len(report.carried), report.known_classes) == ((), 12, ("dog",))
    theirs = given["head.classification_head.module_list.0.1.weight"].reshape(6, COUNT, 672)
    ours = head(weights, "classification_head.module_list.0.1/out/kernel").reshape(672, 6, 3)
    np.testing.assert_array_equal(ours[..., 1].T, theirs[:, DOG])
    np.testing.assert_array_equal(ours[..., 2].T, theirs[:, 0])
    assert not any((theirs[:, number] == ours[..., 0].T).all() for number in range(COUNT))


def test_faster_rcnn_keeps_the_scores_and_the_boxes_of_a_known_class(tmp_path: Path) -> None:
    given, weights, report = tuned("fasterrcnn_mobilenet_v3_large_fpn", tmp_path)
    assert (report.fresh, len(report.carried), report.known_classes) == ((), 4, ("dog",))
    scores, boxes = (f"roi_heads.box_predictor.{part}" for part in ("cls_score", "bbox_pred"))
    ours = head(weights, "box_predictor.cls_score/kernel")
    np.testing.assert_array_equal(ours[:, 1:].T, given[f"{scores}.weight"][[DOG, 0]])
    ours = head(weights, "box_predictor.bbox_pred/kernel").reshape(-1, 2, 4)
    theirs = given[f"{boxes}.weight"].reshape(COUNT, 4, -1)
    np.testing.assert_array_equal(ours[:, 1].T, theirs[DOG])
    bias = head(weights, "box_predictor.bbox_pred/bias").reshape(2, 4)
    np.testing.assert_array_equal(bias[1], given[f"{boxes}.bias"].reshape(COUNT, 4)[DOG])
