"""Suppression against the API's rule, written out one class after the other."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest

from holdfast.detectors.object_detection_api.greedy_nms import suppress

pytestmark = pytest.mark.hot
SIDE, OVERLAP = 100.0, 0.6


def by_the_rule(
    boxes: np.ndarray, scores: np.ndarray, *, most_per_class: int, most: int
) -> list[tuple[float, int]]:
    """Each class takes its best, those outside the image too; then what lies outside is left out."""
    found: list[tuple[float, int]] = []
    for kind in range(scores.shape[1]):
        taken: list[np.ndarray] = []
        for place in np.argsort(-scores[:, kind], kind="stable"):
            box = boxes[place, kind]
            if scores[place, kind] <= 0 or len(taken) == most_per_class:
                break
            if all(_overlap(box, one) <= OVERLAP for one in taken):
                taken.append(box)
                cut = np.clip(box, 0, SIDE)
                if (cut[2] - cut[0]) * (cut[3] - cut[1]) > 0:
                    found.append((float(scores[place, kind]), kind))
    return sorted(found, reverse=True)[:most]


def _overlap(a: np.ndarray, b: np.ndarray) -> float:
    sides = np.maximum(np.minimum(a[2:], b[2:]) - np.maximum(a[:2], b[:2]), 0)
    shared = float(sides.prod())
    return shared / float((a[2:] - a[:2]).prod() + (b[2:] - b[:2]).prod() - shared)


@pytest.mark.parametrize(("most_per_class", "most"), [(20, 20), (100, 20), (5, 30), (200, 200)])
@pytest.mark.parametrize("outside", [0.0, 0.7, 1.0])
def test_boxes_outside_the_image_take_no_place_from_those_inside(
    most_per_class: int, most: int, outside: float
) -> None:
    rng = np.random.default_rng(5)
    batch, count, classes = 2, 150, 3
    corner = rng.uniform(0, 80, (batch, count, classes, 2))
    corner[:, : int(count * outside)] -= 200.0  # as a head does that sends all boxes of an image out of it
    boxes = np.concatenate([corner, corner + rng.uniform(5, 30, corner.shape)], axis=-1).astype(np.float32)
    scores = rng.uniform(0.01, 0.5, (batch, count, classes)).astype(np.float32)
    scores[:, : int(count * outside)] += 0.5  # and those have the best scores
    found = suppress(
        boxes, scores, (SIDE, SIDE), score_above=0.0, overlap_above=OVERLAP, most_per_class=most_per_class,
        most=most,
    )  # fmt: skip
    for image in range(batch):
        real = np.asarray(found.classes[image]) >= 0
        ours = zip(
            np.asarray(found.scores[image])[real].tolist(),
            np.asarray(found.classes[image])[real].tolist(),
            strict=True,
        )
        wanted = by_the_rule(boxes[image], scores[image], most_per_class=most_per_class, most=most)
        assert list(ours) == wanted
        assert np.asarray(found.scores).shape == (batch, most)
        assert not np.asarray(found.boxes[image])[~real].any()


def test_onnx_has_an_operator_for_each_of_its_parts(tmp_path: Path) -> None:
    tf, onnxruntime = pytest.importorskip("tensorflow"), pytest.importorskip("onnxruntime")
    tf2onnx = pytest.importorskip("tf2onnx")
    if keras.backend.backend() != "tensorflow":
        pytest.skip("exports are made on TensorFlow")
    rng = np.random.default_rng(1)
    corner = rng.uniform(-40, 80, (1, 40, 2, 2))
    boxes = np.concatenate([corner, corner + rng.uniform(5, 30, corner.shape)], axis=-1).astype(np.float32)
    scores = rng.uniform(0.01, 1.0, (1, 40, 2)).astype(np.float32)

    def run(boxes: Any, scores: Any) -> Any:
        return suppress(
            boxes, scores, (SIDE, SIDE), score_above=0.0, overlap_above=OVERLAP, most_per_class=9, most=12
        )

    signature = [tf.TensorSpec(one.shape, tf.float32, name) for one, name in ((boxes, "b"), (scores, "s"))]
    path = str(tmp_path / "nms.onnx")
    tf2onnx.convert.from_function(
        tf.function(run, autograph=False), input_signature=signature, opset=17, output_path=path
    )
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    for ours, theirs in zip(session.run(None, {"b": boxes, "s": scores}), run(boxes, scores), strict=True):
        np.testing.assert_allclose(ours, np.asarray(theirs), rtol=1e-6)
