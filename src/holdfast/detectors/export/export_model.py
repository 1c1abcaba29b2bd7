"""A detector as a file that needs no Holdfast: an image goes in, boxes come out.

Nothing is reported as written before the written file itself was run and compared with the model.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from holdfast import atomic_write
from holdfast.detectors.build import Detector
from holdfast.detectors.export.onnx_export import to_onnx
from holdfast.detectors.export.serving_graph import any_size_function, as_detect_function, write_saved_model
from holdfast.detectors.export.tflite_export import to_tflite
from holdfast.detectors.export.verify_export import (
    FLOAT_TOLERANCE,
    ExportComparison,
    Images,
    Tolerance,
    compare,
)

__all__ = ["to_onnx", "to_saved_model", "to_tflite"]


def to_saved_model(
    detector: Detector, folder: Path, images: Images, tolerance: Tolerance = FLOAT_TOLERANCE
) -> ExportComparison:
    """`serve` takes one image of any size, (height, width, 3) uint8, and gives boxes in its own pixels."""
    import tensorflow as tf

    function = any_size_function(detector)
    partial = atomic_write.random_sibling(folder)
    try:
        write_saved_model(detector, function, partial)
        (partial / "classes.txt").write_text("\n".join(detector.spec.classes) + "\n", encoding="utf-8")
        loaded = tf.saved_model.load(str(partial))  # its functions do not keep its variables alive
        compared = compare(as_detect_function(function), as_detect_function(loaded.serve), images, tolerance)
        partial.replace(folder)
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    return compared
