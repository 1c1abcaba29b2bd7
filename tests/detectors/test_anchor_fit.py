import json

import numpy as np
import pytest

from holdfast.cli.main import main
from holdfast.detectors.anchors import anchor_defaults
from holdfast.detectors.anchors.anchor_fit import coverage, fit, fit_if_better, size_iou
from holdfast.detectors.anchors.letterbox import map_to_input


def test_counts_of_the_papers():
    assert len(anchor_defaults.anchors_of("ssd", "vgg16", 300)) == 8732
    assert len(anchor_defaults.anchors_of("ssd", "vgg16", 512)) == 24564
    assert len(anchor_defaults.anchors_of("ssd", "mobilenet_v2", 320)) == 3234
    assert len(anchor_defaults.anchors_of("retinanet", "resnet50", 640)) == 9 * (
        80**2 + 40**2 + 20**2 + 10**2 + 5**2
    )
    assert len(anchor_defaults.anchors_of("faster-rcnn", "resnet50", (480, 640))) == 3 * (
        120 * 160 + 60 * 80 + 30 * 40 + 15 * 20 + 8 * 10
    )


def test_coverage_by_hand():
    # SSDLite's first level: cells of 16 px at 320 px, squares of 64 px; a box on such an anchor is fully covered
    boxes = np.array([[8 + 32 - 32, 8 + 32 - 32, 8 + 32 + 32, 8 + 32 + 32]], float)
    assert coverage("ssd", "mobilenet_v2", (320, 320), boxes).best[0] == pytest.approx(1.0)
    tiny = np.array([[100, 100, 102, 102]], float)
    assert coverage("ssd", "mobilenet_v2", (320, 320), tiny).share(0.5) == 0.0


def test_size_iou_by_hand():
    found = size_iou(np.array([[2.0, 4.0]]), np.array([[2.0, 4.0], [4.0, 2.0], [1.0, 1.0]]))
    np.testing.assert_allclose(found, [[1.0, 4 / 12, 1 / 8]])


def test_fitted_anchors_cover_what_the_given_do_not():
    rng = np.random.default_rng(0)
    corner = rng.uniform(0, 280, (300, 2))
    boxes = np.concatenate([corner, corner + rng.normal([14, 30], 1.5, (300, 2))], axis=1)
    shapes = fit("ssd", "mobilenet_v2", (320, 320), boxes)
    assert [len(level) for level in shapes] == [6] * 6
    assert coverage("ssd", "mobilenet_v2", (320, 320), boxes).share(0.5) < 0.05
    assert (
        coverage("ssd", "mobilenet_v2", (320, 320), boxes, shapes).share(0.5) > 0.4
    )  # the rest lie between cells
    assert fit_if_better("ssd", "mobilenet_v2", (320, 320), boxes) == shapes
    assert fit("ssd", "mobilenet_v2", (320, 320), boxes, seed=0) == shapes


def test_given_anchors_that_suit_are_kept():
    anchors = anchor_defaults.anchors_of("retinanet", "resnet50", 320)
    boxes = anchors[::40].astype(float)
    assert fit_if_better("retinanet", "resnet50", (320, 320), boxes) is None


def test_placing_by_hand():
    placed = map_to_input((640, 480), (320, 320), "letterbox")
    box = np.array([[0, 0, 640, 480]], float)
    np.testing.assert_allclose(placed.to_input(box), [[0, 40, 320, 280]])
    np.testing.assert_allclose(placed.to_image(placed.to_input(box), (640, 480)), box)
    np.testing.assert_allclose(
        map_to_input((640, 480), (320, 320), "stretch").to_input(box), [[0, 0, 320, 320]]
    )
    np.testing.assert_allclose(placed.to_image(np.array([[-9, 0, 999, 999]], float), (640, 480)), box)


def test_the_command(tmp_path, capsys):
    truth = {
        "images": [{"id": 1, "file_name": "a.jpg", "width": 320, "height": 320}],
        "categories": [{"id": 1, "name": "cat"}],
        "annotations": [
            {"id": i + 1, "image_id": 1, "category_id": 1, "bbox": [8, 8, 64, 64], "area": 4096}
            for i in range(40)
        ],
    }
    (tmp_path / "annotations.json").write_text(json.dumps(truth))
    code = main(["anchors", str(tmp_path / "annotations.json"), "--json"])
    printed = json.loads(capsys.readouterr().out)
    assert (code, printed["boxes"], printed["given"]["covered_at_0.5"]) == (0, 40, 1.0)
    assert main(["anchors", str(tmp_path / "annotations.json")]) == 0
    text = capsys.readouterr().out
    assert text.startswith("100.0% of 40 boxes have an anchor with IoU of at least 0.5 (ssd on mobilenet_v2")
    assert text.endswith("coverage at IoU 0.5 by +0.0%: no need to change the anchors\n")


def test_a_dataset_without_boxes(tmp_path, capsys):
    truth = {
        "images": [{"id": 1, "file_name": "a.jpg", "width": 9, "height": 9}],
        "categories": [],
        "annotations": [],
    }
    (tmp_path / "annotations.json").write_text(json.dumps(truth))
    assert main(["anchors", str(tmp_path / "annotations.json")]) == 2
    assert "no boxes to measure anchors on" in capsys.readouterr().err


def test_anchors_for_training_are_fitted_in_pixels_of_the_input():
    from holdfast.detectors.anchors.anchor_fit import anchors_for_training
    from holdfast.detectors.spec import DetectorSpec

    # 10 x 40 px boxes of 640 x 320 images: 5 x 40 in a stretched input of 320.
    corners = np.random.default_rng(0).uniform(0, 200, (40, 2))
    boxes = np.concatenate([corners, corners + np.array([10.0, 40.0])], axis=1)
    spec = DetectorSpec("ssd", "mobilenet_v2", ("a",), (320, 320))
    shapes, said = anchors_for_training(spec, boxes, np.tile([640, 320], (40, 1)))
    assert (5.0, 40.0) in shapes[0]
    assert said.startswith("anchors fitted to 40 boxes, of which ")
    assert said.endswith("(0.0% before)")
    assert anchors_for_training(spec, np.zeros((0, 4)), np.zeros((0, 2)))[0] is None
