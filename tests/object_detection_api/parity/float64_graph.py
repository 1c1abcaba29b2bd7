"""A function's TensorFlow graph, computed in float64: what its float32 answer would be without rounding.

Both sides import it, each in its own interpreter. It imports nothing but NumPy and TensorFlow.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np


def in_float64(function: Callable[[Any], dict[str, Any]], example: Any) -> Callable[[Any], dict[str, Any]]:
    """The same function of one array, with every float32 tensor of its graph, weights included, as float64."""
    import tensorflow as tf
    from tensorflow.python.framework.convert_to_constants import convert_variables_to_constants_v2

    traced = tf.function(function).get_concrete_function(tf.TensorSpec(example.shape, example.dtype))
    frozen = convert_variables_to_constants_v2(traced)
    outputs = {
        name: value.name
        for name, value in zip(sorted(traced.structured_outputs), frozen.outputs, strict=True)
    }
    graph = widened(_needed(frozen.graph.as_graph_def(), [one.partition(":")[0] for one in outputs.values()]))
    whole = tf.compat.v1.wrap_function(lambda: tf.import_graph_def(graph, name=""), [])
    run = whole.prune([one.name for one in frozen.inputs], outputs)
    kind = run.inputs[0].dtype
    return lambda value: {name: np.asarray(one) for name, one in run(tf.constant(value, kind)).items()}


def _needed(graph: Any, outputs: list[str]) -> Any:
    """What the outputs are computed from: suppression, for one, has no float64."""
    import tensorflow as tf

    for node in graph.node:
        values = [name for name in node.input if not name.startswith("^")]
        del node.input[:]
        node.input.extend(values)
    return tf.compat.v1.graph_util.extract_sub_graph(graph, outputs)


def widened(graph: Any) -> Any:
    """A graph's definition with float64 for float32; batch normalisation, which has no float64, written out."""
    import tensorflow as tf

    narrow, wide = tf.float32.as_datatype_enum, tf.float64.as_datatype_enum
    found = tf.compat.v1.GraphDef()
    found.versions.CopyFrom(graph.versions)
    for node in graph.node:
        if node.op.startswith("FusedBatchNorm"):
            _written_out(found, node)
            continue
        copy = found.node.add()
        copy.CopyFrom(node)
        for value in copy.attr.values():
            if value.type == narrow:
                value.type = wide
            for index, kind in enumerate(value.list.type):
                value.list.type[index] = wide if kind == narrow else kind
            if value.HasField("tensor") and value.tensor.dtype == narrow:
                value.tensor.CopyFrom(tf.make_tensor_proto(tf.make_ndarray(value.tensor).astype(np.float64)))
    return found


def _written_out(graph: Any, node: Any) -> None:
    """(x - mean) / sqrt(variance + epsilon) * factor + shift, by stored statistics."""
    import tensorflow as tf

    def step(operation: str, name: str, *inputs: str) -> str:
        added = graph.node.add()
        added.op, added.name = operation, name
        added.input.extend(inputs)
        added.attr["T"].type = tf.float64.as_datatype_enum
        return name

    if node.attr["is_training"].b:
        raise ValueError(f"{node.name} takes the statistics of the batch")
    x, factor, shift, mean, variance = list(node.input)[:5]
    epsilon = graph.node.add()
    epsilon.op, epsilon.name = "Const", f"{node.name}/epsilon"
    epsilon.attr["dtype"].type = tf.float64.as_datatype_enum
    epsilon.attr["value"].tensor.CopyFrom(tf.make_tensor_proto(np.float64(node.attr["epsilon"].f)))
    share = step("Rsqrt", f"{node.name}/share", step("AddV2", f"{node.name}/above", variance, epsilon.name))
    scaled = step("Mul", f"{node.name}/factor", share, factor)
    centred = step("Sub", f"{node.name}/centred", x, mean)
    step("AddV2", node.name, step("Mul", f"{node.name}/scaled", centred, scaled), shift)
