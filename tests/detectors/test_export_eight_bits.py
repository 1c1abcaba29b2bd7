import numpy as np
import pytest

pytestmark = pytest.mark.hot


def test_nothing_but_layers_is_in_eight_bits(tmp_path):
    """The background is cut off from probabilities: a slice, which TFLite rounds to 1/256 unless it is kept from it."""
    import keras
    import tensorflow as tf
    from ai_edge_litert.interpreter import Interpreter

    from holdfast.detectors.export.tflite_export import _quantised

    layer = keras.layers.Conv2D(8, 1, name="class_out", kernel_initializer="ones")
    layer.build((1, 8, 8, 3))

    def scores(images):
        logits = tf.reshape(layer(tf.cast(images, tf.float32) / 255.0), [1, 64, 8])
        return {"scores": tf.where(logits[..., :1] > 0.1, tf.nn.softmax(logits)[..., :7], 0.0)}

    images = tf.TensorSpec([1, 8, 8, 3], tf.uint8, name="images")
    archive = keras.export.ExportArchive()
    archive.track(layer)
    archive.add_endpoint("serve", tf.function(scores, [images]))
    archive.write_out(str(tmp_path), verbose=False)
    converter = tf.lite.TFLiteConverter.from_saved_model(str(tmp_path), signature_keys=["serve"])
    calibration = np.random.default_rng(0).integers(0, 256, (4, 8, 8, 3)).astype(np.uint8)
    interpreter = Interpreter(model_content=_quantised(converter, calibration))
    kinds = {tensor["index"]: tensor["dtype"] for tensor in interpreter.get_tensor_details()}
    in_eight_bits = {
        operation["op_name"]
        for operation in interpreter._get_ops_details()
        if kinds.get(operation["outputs"][0]) == np.int8
    }
    assert in_eight_bits == {"QUANTIZE", "CONV_2D"}
