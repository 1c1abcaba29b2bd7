"""A detector as a file that needs no Holdfast: a picture goes in, boxes come out.

Nothing is reported as written before the written file itself was run and compared with the model.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import keras
import numpy as np
from numpy.typing import NDArray

from holdfast.detectors.build import Detector
from holdfast.detectors.resizing import GREY
from holdfast.errors import AlreadyThere, HoldfastError

Pictures = Sequence[NDArray[np.uint8]]
Run = Callable[[NDArray[np.uint8]], tuple[NDArray[Any], NDArray[Any], NDArray[Any]]]


class ExportDiffers(HoldfastError):
    """The written file does not find what the model finds."""

    slug = "export-differs"


@dataclass(frozen=True, slots=True)
class Compared:
    """Of all pictures: the largest difference of a box in pixels, and of a score, among detections of both.

    `unmatched` were found by one alone: near-equal scores change places at the end of the list, and a box on
    the edge of suppression falls either way by the last bit.
    """

    pictures: int
    detections: int
    unmatched: int
    boxes: float
    scores: float


def to_saved_model(
    detector: Detector, folder: Path, pictures: Pictures, *, tolerance: float = 0.05
) -> Compared:
    """A SavedModel: `serve` takes one picture of any size, (h, w, 3) uint8, and gives boxes in its own pixels."""
    import tensorflow as tf

    _refuse_there(folder)
    partial = folder.with_name(f".{folder.name}.partial")
    shutil.rmtree(partial, ignore_errors=True)
    function = tf.function(
        lambda image: _as_dict(_on_any_size(detector, image)),
        input_signature=[tf.TensorSpec([None, None, 3], tf.uint8, name="image")],
    )
    _write(detector, function, partial)
    loaded = tf.saved_model.load(str(partial))  # its functions do not keep its variables alive
    compared = compare(_reading(function), _reading(loaded.serve), pictures, tolerance)
    partial.replace(folder)
    return compared


def to_tflite(detector: Detector, path: Path, pictures: Pictures, *, tolerance: float = 0.05) -> Compared:
    """A TFLite file: takes (1, height, width, 3) uint8 of the model's input size, brought there by its rule."""
    import tensorflow as tf

    _refuse_there(path)
    height, width = detector.spec.input
    signature = tf.TensorSpec([1, height, width, 3], tf.uint8, name="images")
    function = tf.function(
        lambda images: _as_dict([part[0] for part in detector.detect(images)]), input_signature=[signature]
    )
    partial = path.with_name(f".{path.name}.partial")
    # Through a SavedModel: the direct way converts Keras' variables to nothing, without a word.
    with tempfile.TemporaryDirectory() as folder:
        _write(detector, function, Path(folder) / "saved")
        converter = tf.lite.TFLiteConverter.from_saved_model(f"{folder}/saved", signature_keys=["serve"])
        partial.write_bytes(converter.convert())
    runner = tf.lite.Interpreter(model_path=str(partial)).get_signature_runner("serve")
    name = next(iter(runner.get_input_details()))
    written = _reading(lambda image: runner(**{name: image[None]}))
    compared = compare(_reading(lambda image: function(image[None])), written, pictures, tolerance)
    partial.replace(path)
    return compared


def _write(detector: Detector, function: Any, folder: Path) -> None:
    archive = keras.export.ExportArchive()
    archive.track(detector)
    archive.add_endpoint("serve", function)
    archive.write_out(str(folder), verbose=False)


def compare(model: Run, written: Run, pictures: Pictures, tolerance: float) -> Compared:
    """Both on every picture; raises where more than one detection in a hundred has no partner in the other."""
    detections, unmatched, boxes, scores = 0, 0, 0.0, 0.0
    for picture in pictures:
        ours, theirs = model(picture), written(picture)
        apart = np.abs(ours[0][:, None] - theirs[0][None]).max(axis=-1)
        score_apart = np.abs(ours[1][:, None] - theirs[1][None])
        same = (ours[2][:, None] == theirs[2][None]) & (apart <= tolerance) & (score_apart <= 1e-3)
        real, matched = ours[2] >= 0, same.any(axis=1)
        detections += int(real.sum())
        unmatched += int((real & ~matched).sum())
        partner = np.where(same, apart, np.inf).argmin(axis=1)
        both = np.flatnonzero(real & matched)
        boxes = max(boxes, float(apart[both, partner[both]].max(initial=0.0)))
        scores = max(scores, float(score_apart[both, partner[both]].max(initial=0.0)))
    if unmatched > 0.01 * detections:
        raise ExportDiffers(
            "the written file does not find what the model finds; it is not kept under its name",
            found=f"{unmatched} of {detections} detections have no partner within {tolerance:g} pixels",
        )
    return Compared(len(pictures), detections, unmatched, boxes, scores)


def _on_any_size(detector: Detector, image: Any) -> list[Any]:
    """Resized, looked at, and the boxes brought back, all inside the graph."""
    import tensorflow as tf

    height, width = detector.spec.input
    size = tf.cast(tf.shape(image)[:2], tf.float32)
    drawn = tf.constant([height, width], tf.int32)
    if detector.spec.resizing == "letterbox":
        scale = tf.reduce_min(tf.constant([height, width], tf.float32) / size)
        drawn = tf.maximum(1, tf.cast(tf.round(size * scale), tf.int32))
    pixels = tf.image.resize(image, drawn, antialias=True)
    pixels = tf.cast(tf.clip_by_value(tf.round(pixels), 0.0, 255.0), tf.uint8)
    top, left = (height - drawn[0]) // 2, (width - drawn[1]) // 2
    beside = [[top, height - drawn[0] - top], [left, width - drawn[1] - left], [0, 0]]
    pixels = tf.ensure_shape(tf.pad(pixels, beside, constant_values=GREY), [height, width, 3])
    boxes, scores, classes = (part[0] for part in detector.detect(pixels[None]))
    shift = tf.cast(tf.stack([left, top, left, top]), tf.float32)
    scales = tf.cast(drawn, tf.float32) / size
    limit = tf.stack([size[1], size[0], size[1], size[0]])
    back = tf.clip_by_value((boxes - shift) / tf.gather(scales, [1, 0, 1, 0]), 0.0, limit)
    return [tf.where(classes[:, None] >= 0, back, 0.0), scores, classes]


def _as_dict(parts: Sequence[Any]) -> dict[str, Any]:
    return {"boxes": parts[0], "scores": parts[1], "classes": parts[2]}


def _reading(function: Callable[[Any], Any]) -> Run:
    def run(picture: NDArray[np.uint8]) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
        found = function(picture)
        return np.asarray(found["boxes"]), np.asarray(found["scores"]), np.asarray(found["classes"])

    return run


def _refuse_there(path: Path) -> None:
    if path.exists():
        raise AlreadyThere(
            "the export would overwrite something", where=path, change="name a path that is free"
        )
