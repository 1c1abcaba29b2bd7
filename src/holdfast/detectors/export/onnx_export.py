"""A detector as an ONNX file, through tf2onnx, run by onnxruntime."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

import numpy as np

from holdfast import atomic_write
from holdfast.detectors.build import Detector
from holdfast.detectors.export.serving_graph import any_size_function, as_detect_function
from holdfast.detectors.export.verify_export import (
    FLOAT_TOLERANCE,
    ExportComparison,
    Images,
    Tolerance,
    compare,
)
from holdfast.errors import needs

OPSET = 18  # the first whose Resize can take the mean over what it shrinks


def to_onnx(
    detector: Detector, path: Path, images: Images, tolerance: Tolerance = FLOAT_TOLERANCE
) -> ExportComparison:
    """Takes one image of any size, `image` (height, width, 3) uint8; gives `boxes`, `scores`, `classes`."""
    function = any_size_function(detector)
    partial = atomic_write.random_sibling(path)
    try:
        atomic_write.write_bytes(partial, _converted(detector, function).SerializeToString())
        compared = compare(
            as_detect_function(function), as_detect_function(_runner(partial)), images, tolerance
        )
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)
    return compared


def _converted(detector: Detector, function: Any) -> Any:
    try:
        import onnx
        import tf2onnx
    except ImportError as error:
        raise needs(error.name or "tf2onnx", "export", "writing ONNX") from error
    logging.getLogger("tf2onnx").setLevel(logging.ERROR)
    model, _ = tf2onnx.convert.from_function(
        function,
        input_signature=function.input_signature,
        opset=OPSET,
        custom_op_handlers={"ScaleAndTranslate": (_antialiased_resize, [])},
    )
    facts = {"classes": json.dumps(list(detector.spec.classes)), "made_by": "holdfast"}
    onnx.helper.set_model_props(model, facts)
    return model


def _antialiased_resize(context: Any, node: Any, name: str, args: Any) -> None:
    """`tf.image.resize(antialias=True)`, which tf2onnx does not know, as ONNX' own Resize, channels first."""
    image, size = node.input[0], node.input[1]
    shapes, kinds = node.output_shapes, node.output_dtypes
    output = node.output[0]
    context.remove_node(node.name)
    planes = context.make_node("Transpose", [image], attr={"perm": [0, 3, 1, 2]}).output[0]
    shape = context.make_node("Shape", [planes], attr={"start": 0, "end": 2}).output[0]
    size = context.make_node("Cast", [size], attr={"to": 7}).output[0]  # 7: int64
    whole = context.make_node("Concat", [shape, size], attr={"axis": 0}).output[0]
    attributes = {
        "mode": "linear", "antialias": 1, "coordinate_transformation_mode": "half_pixel",
        "exclude_outside": 1,
    }  # fmt: skip
    drawn = context.make_node("Resize", [planes, "", "", whole], attr=attributes).output[0]
    context.make_node(
        "Transpose", [drawn], attr={"perm": [0, 2, 3, 1]}, name=name, outputs=[output],
        shapes=shapes, dtypes=kinds,
    )  # fmt: skip


def _runner(path: Path) -> Any:
    try:
        import onnxruntime
    except ImportError as error:
        raise needs("onnxruntime", "export", "running the ONNX file that was written") from error
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3  # warnings about its own optimisations are nobody's business
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    (feed,) = session.get_inputs()
    given = [output.name for output in session.get_outputs()]

    def run(image: np.ndarray) -> dict[str, Any]:
        return dict(zip(given, session.run(given, {feed.name: image}), strict=True))

    return run
