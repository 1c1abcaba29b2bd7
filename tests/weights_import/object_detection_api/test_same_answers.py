"""Networks in the API's arithmetic give the API's own answers, which `parity/references.py` stored."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from keras import ops
from numpy.typing import NDArray

from holdfast.detectors.build import build
from holdfast.detectors.spec import DetectorSpec, from_json
from holdfast.weights_import.object_detection_api.import_config import read_config

from . import seeded
from .configs import MODELS, TRAINING

ANSWERS = Path(__file__).parent / "answers"
_LOSSES = {"localization": "Loss.localization_loss", "classification": "Loss.classification_loss"}
_TWO_STAGE_LOSSES = {
    "rpn_objectness": "Loss.RPNLoss.objectness_loss", "rpn_localization": "Loss.RPNLoss.localization_loss",
    "classification": "Loss.BoxClassifierLoss.classification_loss",
    "localization": "Loss.BoxClassifierLoss.localization_loss",
}  # fmt: skip

pytestmark = pytest.mark.long(40)


@pytest.mark.parametrize("name", sorted(path.stem for path in ANSWERS.glob("*.npz")))
def test_the_network_answers_as_the_api(name: str, tmp_path: Path) -> None:
    detector, api = network(name, tmp_path), dict(np.load(ANSWERS / f"{name}.npz"))
    image = ops.convert_to_tensor(seeded.image())
    for ours, theirs in outputs(detector, image, api):
        assert np.abs(ours - theirs).max() <= 1e-4 * np.abs(theirs).max()
    assert_same_detections(detector.detect(image), api)
    boxes, labels = seeded.boxes()
    batch = {
        "images": image, "boxes": boxes[..., [1, 0, 3, 2]], "labels": labels, "seeds": np.zeros(1, np.int32),
        "real": np.ones((1, 4), bool), "crowd": np.zeros((1, 4), bool),
    }  # fmt: skip
    losses = detector.losses_of({key: ops.convert_to_tensor(value) for key, value in batch.items()})
    for own, theirs in (_TWO_STAGE_LOSSES if name == "faster-rcnn" else _LOSSES).items():
        assert float(losses[own][0]) == pytest.approx(float(api[theirs][0]), rel=1e-4), own


def network(name: str, folder: Path) -> Any:
    """As the import builds it, with weights that follow from their names."""
    config = folder / "pipeline.config"
    config.write_text(MODELS[name] + TRAINING)
    imported = read_config(config)
    settings = imported.model
    assert settings is not None, imported.why_not
    spec = DetectorSpec(
        settings.detector, settings.backbone, imported.classes, (settings.size.height, settings.size.width),
        variant="object-detection-api", options=settings.options,
    )  # fmt: skip
    assert from_json(spec.as_json()) == spec
    detector: Any = build(spec)
    for variable in detector.variables:
        variable.assign(seeded.weight(variable.path, tuple(variable.shape)))
    return detector


def outputs(detector: Any, image: Any, api: dict[str, Any]) -> list[tuple[NDArray[Any], NDArray[Any]]]:
    """Ours and theirs, those numbers that are stored."""
    if detector.spec.detector == "faster-rcnn":
        objectness, codes = detector.rpn(detector.backbone(image)[0])
        return [
            (kept(objectness), api["rpn_objectness_predictions_with_background"]),
            (kept(codes), api["rpn_box_encodings"]),
        ]
    logits, codes = detector(image)
    first = np.roll(ops.convert_to_numpy(logits), 1, axis=-1)  # the API has the background first
    return [(kept(first), api["class_predictions_with_background"]), (kept(codes), api["box_encodings"])]


def kept(value: Any) -> NDArray[Any]:
    flat = ops.convert_to_numpy(value).reshape(-1)
    return flat[:: max(1, flat.size // 60)]


def assert_same_detections(found: Any, api: dict[str, Any]) -> None:
    scores, classes = (ops.convert_to_numpy(part)[0] for part in (found.scores, found.classes))
    boxes = ops.convert_to_numpy(found.boxes)[0]
    theirs = api["detection_scores"].reshape(-1)
    real = theirs > 0
    assert (classes >= 0).sum() == real.sum() > 5
    np.testing.assert_allclose(scores[classes >= 0], theirs[real], atol=1e-4)
    corners = api["detection_boxes"].reshape(-1, 4)[real][:, [1, 0, 3, 2]] * seeded.SIZE
    np.testing.assert_allclose(boxes[classes >= 0], corners, atol=0.02)
    assert list(classes[classes >= 0]) == list(api["detection_classes"].reshape(-1)[real].astype(int))
