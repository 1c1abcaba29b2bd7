"""Each detector learns 16 real images by heart: matching, losses, decoding and evaluation agree with each other.

A plain training loop, on purpose: it is the detector that is tried here, not the trainer.
"""

import functools

import numpy as np
import pytest
from PIL import Image

from holdfast.detectors.export.verify_export import DetectionArrays, Tolerance, compare
from holdfast.evaluate.box_columns import GroundTruth, Predictions
from holdfast.evaluate.coco_metrics import score
from tests import real_data

IMAGES = real_data.DATA / "microcontroller"
WEIGHTS = real_data.WEIGHTS / "mobilenet_v2"

pytestmark = [
    pytest.mark.hot,
    pytest.mark.proof,
    pytest.mark.timeout(3600),
    real_data.needs(IMAGES, WEIGHTS),
]

SIDE = 160


def sixteen_images():
    """Every ninth image, so that all four classes are there, stretched to the input."""
    from holdfast.data.reading.load import read

    dataset = read(str(IMAGES / "images" / "train"), format="voc")
    records = dataset.records[::9][:16]
    most = max(len(record.boxes) for record in records)
    batch = {
        "images": np.zeros((16, SIDE, SIDE, 3), np.uint8),
        "boxes": np.zeros((16, most, 4), np.float32),
        "labels": np.zeros((16, most), np.int32),
        "real": np.zeros((16, most), bool),
        "crowd": np.zeros((16, most), bool),
    }
    for row, record in enumerate(records):
        image = Image.open(record.image.path).convert("RGB")
        batch["images"][row] = np.asarray(image.resize((SIDE, SIDE)))
        for column, box in enumerate(record.boxes):
            scale = np.array([SIDE / image.width, SIDE / image.height] * 2)
            batch["boxes"][row, column] = np.array(box.corners) * scale
            batch["labels"][row, column] = dataset.index()[box.name]
            batch["real"][row, column] = True
    return batch, dataset.classes


def ap50(batch, detections, classes):
    truth_rows = np.argwhere(batch["real"])
    corners = batch["boxes"][batch["real"]].astype(float)
    boxes = np.concatenate([corners[:, :2], corners[:, 2:] - corners[:, :2]], axis=1)
    truth = GroundTruth(
        tuple(range(16)), tuple(enumerate(classes)), truth_rows[:, 0], batch["labels"][batch["real"]].astype(int),
        boxes, np.zeros(len(boxes), bool), boxes[:, 2] * boxes[:, 3],
    )  # fmt: skip
    found_boxes, scores, labels = (np.asarray(part) for part in detections)
    rows, columns = np.nonzero(labels >= 0)
    corners = found_boxes[rows, columns].astype(float)
    boxes = np.concatenate([corners[:, :2], corners[:, 2:] - corners[:, :2]], axis=1)
    found = Predictions(rows, labels[rows, columns].astype(int), boxes, scores[rows, columns].astype(float))
    return score(truth, found).numbers


@functools.cache
def learnt_by_heart(name, most_steps=200, rate=1e-3):
    """The detector, and its numbers on the sixteen images."""
    import keras
    import tensorflow as tf

    from holdfast.detectors.anchors.balanced_sampler import seeds_for
    from holdfast.detectors.batch import total_loss
    from holdfast.detectors.build import build
    from holdfast.detectors.spec import DetectorSpec

    batch, classes = sixteen_images()
    detector = build(DetectorSpec(name, "mobilenet_v2", classes, (SIDE, SIDE)), str(WEIGHTS))
    warm = keras.optimizers.schedules.CosineDecay(0.0, most_steps, warmup_target=rate, warmup_steps=10)
    optimizer = keras.optimizers.AdamW(warm, weight_decay=1e-4, clipnorm=None, global_clipnorm=10.0)
    optimizer.build(detector.trainable_variables)

    @tf.function
    def step(part):
        with tf.GradientTape() as tape:
            losses = detector.losses_of(part)
            loss = total_loss(losses)
        gradients = tape.gradient(loss, [variable.value for variable in detector.trainable_variables])
        optimizer.apply(gradients, detector.trainable_variables)
        return loss, losses

    detect = tf.function(detector.detect)
    rng = np.random.default_rng(0)
    for index in range(most_steps):
        rows = rng.permutation(16)[:8]
        part = {key: tf.constant(value[rows]) for key, value in batch.items()}
        part["seeds"] = seeds_for(tf.constant(rows), tf.constant(index))
        loss, losses = step(part)
        assert np.isfinite(float(loss)), index
        if index % 25 == 24:
            numbers = ap50(batch, detect(batch["images"]), classes)
            parts = {key: round(float(np.mean(value)), 3) for key, value in losses.items()}
            print(f"{name} step {index + 1} AP50 {numbers['AP50']:.3f} AP {numbers['AP']:.3f} {parts}")
            if numbers["AP50"] >= 0.99:
                break
    return detector, numbers


@pytest.mark.parametrize("name", ["ssd", "retinanet", "faster-rcnn"])
def test_sixteen_images_by_heart(name):
    _, numbers = learnt_by_heart(name)
    assert numbers["AP50"] >= 0.95


def twenty_files():
    return sorted((IMAGES / "images" / "train").glob("*.jpg"))[::7][:20]


@pytest.mark.parametrize("name", ["ssd", "retinanet", "faster-rcnn"])
def test_every_form_finds_the_same_on_twenty_images(name, tmp_path):
    """Each export compares itself on twenty photographs before it says that it is written, and raises else."""
    from holdfast.detectors.export import export_model
    from holdfast.detectors.inference import as_trained

    pytest.importorskip("tf2onnx")
    pytest.importorskip("onnxruntime")
    detector, _ = learnt_by_heart(name)
    photographs = [np.asarray(Image.open(path).convert("RGB")) for path in twenty_files()]
    shown = as_trained(detector.spec)
    fitted = [shown(path.read_bytes()).pixels for path in twenty_files()]
    forms = {
        "saved_model": lambda: export_model.to_saved_model(detector, tmp_path / "saved", photographs),
        "onnx": lambda: export_model.to_onnx(detector, tmp_path / "model.onnx", photographs),
        "tflite": lambda: export_model.to_tflite(detector, tmp_path / "model.tflite", fitted),
    }
    done = {}
    for form, exported in forms.items():
        done[form] = exported()
        print(name, form, done[form])
        assert done[form].images == 20
        assert done[form].detections >= 10
    assert done["saved_model"].unmatched == 0


@pytest.mark.parametrize("name", ["ssd", "retinanet", "faster-rcnn"])
def test_eight_bits_come_near_or_are_refused(name, tmp_path):
    """RetinaNet's light heads, one for all levels, lose more in eight bits than is allowed: no file is left then."""
    from holdfast.detectors.export import export_model
    from holdfast.detectors.export.verify_export import ExportDiffers
    from holdfast.detectors.inference import as_trained

    detector, _ = learnt_by_heart(name)
    shown, small = as_trained(detector.spec), tmp_path / "int8.tflite"
    fitted = [shown(path.read_bytes()).pixels for path in twenty_files()]
    try:
        compared = export_model.to_tflite(detector, small, fitted, calibration=fitted)
    except ExportDiffers as refused:
        print(name, "int8 refused", refused.found)
        assert name != "ssd"
        assert not small.exists()
        return
    print(name, "int8", compared)
    in_float_bytes = 4 * sum(int(np.prod(variable.shape)) for variable in detector.variables)
    assert small.stat().st_size < 0.5 * in_float_bytes


def test_a_file_and_holdfast_predict_agree(tmp_path):
    """What is left is the decoder of a JPEG: by TensorFlow at a quarter of its size, by Pillow in full."""
    import tensorflow as tf

    from holdfast.data.records import ImageRef
    from holdfast.detectors.export import export_model
    from holdfast.detectors.export.serving_graph import as_detect_function
    from holdfast.detectors.inference import detect_all

    detector, _ = learnt_by_heart("ssd")
    files = twenty_files()
    photographs = {
        id(array): array for array in (np.asarray(Image.open(path).convert("RGB")) for path in files)
    }
    seen = detect_all(detector, [ImageRef(str(path)) for path in files])
    predicted = {
        key: DetectionArrays(one.boxes, one.scores, one.classes)
        for key, one in zip(photographs, seen, strict=True)
    }
    export_model.to_saved_model(detector, tmp_path / "saved", list(photographs.values()))
    loaded = tf.saved_model.load(str(tmp_path / "saved"))
    found = compare(
        lambda image: predicted[id(image)], as_detect_function(loaded.serve), list(photographs.values()),
        Tolerance(pixels=2.0, score=0.02, least_score=0.3, share=0.99),  # of 800 x 600
    )  # fmt: skip
    print("predict against SavedModel", found)
    assert found.detections >= 10
