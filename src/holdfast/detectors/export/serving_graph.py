"""The function that an exported file holds: an image in, boxes in its own pixels out. TensorFlow alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import keras
import numpy as np
from numpy.typing import NDArray

from holdfast.detectors.anchors.letterbox import GREY
from holdfast.detectors.build import Detector
from holdfast.detectors.export import serving_placement
from holdfast.detectors.export.verify_export import DetectFunction, DetectionArrays
from holdfast.errors import HoldfastError

OUTPUTS = ("boxes", "scores", "classes")


class NotOnThisBackend(HoldfastError):
    """Exporting was asked of Keras on another backend than TensorFlow."""

    slug = "not-on-this-backend"


def any_size_function(detector: Detector) -> Any:
    """Takes one image, (height, width, 3) uint8; resizing, padding and the way back are inside."""
    import tensorflow as tf

    _refuse_other_backend()
    return tf.function(
        lambda image: _named(_on_any_size(detector, image)),
        input_signature=[tf.TensorSpec([None, None, 3], tf.uint8, name="image")],
        autograph=False,
    )


def fixed_size_function(detector: Detector) -> Any:
    """Takes (1, height, width, 3) uint8 of the model's input size, brought there by the model's rule."""
    import tensorflow as tf

    _refuse_other_backend()
    signature = tf.TensorSpec([1, *detector.spec.input, 3], tf.uint8, name="images")
    return tf.function(
        lambda images: _named([part[0] for part in detector.detect(images)]),
        input_signature=[signature],
        autograph=False,
    )


def write_saved_model(detector: Detector, function: Any, folder: Path) -> None:
    archive = keras.export.ExportArchive()
    archive.track(detector)
    archive.add_endpoint("serve", function)
    archive.write_out(str(folder), verbose=False)


def as_detect_function(function: Callable[[Any], Any]) -> DetectFunction:
    """A function that gives a dict of tensors, as one that gives an answer to compare."""

    def run(image: NDArray[np.uint8]) -> DetectionArrays:
        found = function(image)
        boxes, scores, classes = (np.asarray(found[name]) for name in OUTPUTS)
        return DetectionArrays(boxes.astype(np.float64), scores.astype(np.float64), classes.astype(np.int64))

    return run


def _refuse_other_backend() -> None:
    """A model file is numpy's: whichever backend trained it, TensorFlow can load it, but Keras must run on it."""
    backend = keras.backend.backend()
    if backend != "tensorflow":
        raise NotOnThisBackend(
            "exporting is done by TensorFlow, and Keras runs on another backend in this process",
            found=f"the backend is {backend}",
            change="`holdfast export`, or KERAS_BACKEND=tensorflow before Keras is imported; the model file stays",
        )


def _on_any_size(detector: Detector, image: Any) -> list[Any]:
    """Decoded pixels are shrunk as the pipeline shrinks a JPEG, to whole grey levels, and placed as there."""
    import tensorflow as tf

    height, width = detector.spec.input
    rows, columns, _ = tf.unstack(tf.shape(image))
    size = tf.cast(tf.stack([columns, rows]), tf.float32)
    placed = serving_placement.place(size, width, height, letterbox=detector.spec.resizing == "letterbox")
    left, top, right, bottom = tf.unstack(placed.drawn)
    blocks = _means_of_blocks(tf.cast(image, tf.float32), placed.ratio)
    pixels = _resized(blocks[None], bottom - top, right - left)
    beside = [[0, 0], [top, height - bottom], [left, width - right], [0, 0]]
    pixels = tf.ensure_shape(tf.pad(pixels, beside, constant_values=float(GREY)), [1, height, width, 3])
    boxes, scores, classes = (part[0] for part in detector.detect(pixels))
    scale, shift = tf.tile(placed.scale, [2]), tf.tile(placed.shift, [2])
    back = tf.clip_by_value((boxes - shift) / scale, 0.0, tf.tile(size, [2]))
    return [tf.where(classes[:, None] >= 0, back, 0.0), scores, classes]


def _means_of_blocks(image_hw3: Any, side: Any) -> Any:
    """What a JPEG's decoder gives at 1/side, from the pixels; the last blocks are filled up with the edge."""
    import tensorflow as tf

    rows, columns = tf.unstack((tf.shape(image_hw3)[:2] + side - 1) // side)
    for axis, count in enumerate((rows, columns)):
        inside = tf.minimum(tf.range(count * side), tf.shape(image_hw3)[axis] - 1)
        image_hw3 = tf.gather(image_hw3, inside, axis=axis)
    parts = tf.reshape(image_hw3, tf.stack([rows, side, columns, side, 3]))
    return tf.floor(tf.reduce_mean(parts, axis=[1, 3]) + 0.5)


def _resized(image_1hw3: Any, height: Any, width: Any) -> Any:
    """`pipeline.decode.resized` in operations that other engines have: floats, and whole numbers by their floor.

    Halves are frequent, and the last bit of one differs between engines: a thousandth more lets all fall alike.
    """
    import tensorflow as tf

    to = tf.stack([height, width])
    far = tf.reduce_any(tf.shape(image_1hw3)[1:3] > 2 * to + 1)
    pixels = tf.cond(
        far,
        lambda: tf.image.resize(image_1hw3, to, antialias=True),
        lambda: tf.raw_ops.ResizeBilinear(images=image_1hw3, size=to, half_pixel_centers=True),
    )
    return tf.floor(pixels + (0.5 + 2.0**-10))


def _named(parts: Sequence[Any]) -> dict[str, Any]:
    return dict(zip(OUTPUTS, parts, strict=True))
