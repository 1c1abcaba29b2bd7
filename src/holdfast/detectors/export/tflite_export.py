"""A detector as a TFLite file, in float32 or with its convolutions in eight bits."""

from __future__ import annotations

import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from holdfast import atomic_write
from holdfast.detectors.build import Detector
from holdfast.detectors.export.serving_graph import as_detect_function, fixed_size_function, write_saved_model
from holdfast.detectors.export.verify_export import (
    FLOAT_TOLERANCE,
    INT8_TOLERANCE,
    ExportComparison,
    Images,
    Tolerance,
    compare,
)

#: What is computed in eight bits. Decoding boxes and suppression are not: a step of 1/256 of the range is a pixel.
QUANTISED = ("CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED")


def to_tflite(
    detector: Detector,
    path: Path,
    images: Images,
    *,
    calibration: Images = (),
    tolerance: Tolerance | None = None,
) -> ExportComparison:
    """Takes `images`, (1, height, width, 3) uint8 of the model's input size, brought there by the model's rule.

    With `calibration` images the convolutions are in eight bits, over the ranges seen in these.
    """
    function = fixed_size_function(detector)
    partial = atomic_write.random_sibling(path)
    limit = tolerance or (INT8_TOLERANCE if len(calibration) else FLOAT_TOLERANCE)
    try:
        atomic_write.write_bytes(partial, _converted(detector, function, calibration))
        _add_classes(partial, detector.spec.classes)
        compared = compare(
            as_detect_function(lambda image: function(image[None])),
            as_detect_function(_runner(partial)),
            images,
            limit,
        )
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)
    return compared


def _converted(detector: Detector, function: Any, calibration: Images) -> bytes:
    import tensorflow as tf

    # Through a SavedModel: the direct way converts Keras' variables to nothing, without a word.
    with tempfile.TemporaryDirectory() as folder:
        write_saved_model(detector, function, Path(folder) / "saved")
        converter = tf.lite.TFLiteConverter.from_saved_model(f"{folder}/saved", signature_keys=["serve"])
        if not len(calibration):
            return bytes(converter.convert())
        return _quantised(converter, calibration)


def _quantised(converter: Any, calibration: Images) -> bytes:
    import tensorflow as tf
    from tensorflow.lite.python.schema_py_generated import BuiltinOperator

    def examples() -> Iterator[dict[str, Any]]:
        for image in calibration:
            yield {"images": image[None]}

    converter.optimizations = [tf.lite.Optimize.DEFAULT]
    converter.representative_dataset = examples
    # Without this list everything is quantised, and the file divides by zero when boxes are compared.
    others = [name for name in vars(BuiltinOperator) if name.isupper() and name not in QUANTISED]
    options = tf.lite.experimental.QuantizationDebugOptions(denylisted_ops=others)
    debugger = tf.lite.experimental.QuantizationDebugger(
        converter=converter, debug_dataset=examples, debug_options=options
    )
    debugger.calibrated_model = _ranges_of_layers_alone(debugger.calibrated_model)
    return bytes(debugger.get_nondebug_quantized_model())


def _ranges_of_layers_alone(calibrated: bytes) -> bytes:
    """The ranges that were seen, but for those of tensors that no convolution or dense layer takes or gives.

    The list above does not bind slices, nor values that are rounded to eight bits and back between two operations in
    float32: with every convolution in float32, boxes of a Faster R-CNN of 128 pixels were up to 3.7 pixels away and
    its scores in steps of 1/256. What has no range stays as it is.
    """
    import flatbuffers  # type: ignore[import-untyped]
    from tensorflow.lite.python.schema_py_generated import BuiltinOperator, ModelT

    quantised = {getattr(BuiltinOperator, name) for name in QUANTISED}
    model = ModelT.InitFromPackedBuf(calibrated, 0)
    for graph in model.subgraphs:
        layers = [
            op for op in graph.operators if model.operatorCodes[op.opcodeIndex].builtinCode in quantised
        ]
        near = {int(index) for layer in layers for index in (*layer.inputs, *layer.outputs)}
        for index, tensor in enumerate(graph.tensors):
            if index not in near:
                tensor.quantization = None
    builder = flatbuffers.Builder(len(calibrated))
    builder.Finish(model.Pack(builder), b"TFL3")
    return bytes(builder.Output())


def _add_classes(path: Path, classes: tuple[str, ...]) -> None:
    """The names, one a line, as TFLite's metadata has them: a zip at the file's end, which `unzip` opens."""
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("labels.txt", "\n".join(classes) + "\n")


def _runner(path: Path) -> Any:
    try:
        from ai_edge_litert.interpreter import Interpreter
    except ImportError:  # TensorFlow's own copy of it, which is to go
        from tensorflow.lite import Interpreter
    runner = Interpreter(model_path=str(path)).get_signature_runner("serve")
    (name,) = runner.get_input_details()
    return lambda image: runner(**{name: image[None]})
