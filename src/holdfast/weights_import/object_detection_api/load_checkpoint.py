"""A checkpoint of the Object Detection API into a rebuilt network: every weight, or an error that names the first that
does not fit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from holdfast.detectors.build import Detector
from holdfast.errors import WeightsDoNotFit
from holdfast.weights_import.finite_weights import refuse_unless_finite
from holdfast.weights_import.object_detection_api.checkpoint_variables import source_of
from holdfast.weights_import.object_detection_api.object_graph import ObjectGraph, read_graph
from holdfast.weights_import.object_detection_api.tensor_bundle import DTYPES, TensorBundle, open_bundle

#: What the detector is called in the checkpoints of the API's training and exporter, and in a SavedModel.
_MODEL_NAMES = ("model", "_model")


def load(detector: Detector, prefix: Path) -> int:
    """Fill `detector`; returns how many weights the checkpoint has that the network does not use, other than the
    optimizer's."""
    bundle = open_bundle(prefix)
    graph = read_graph(bundle)
    if graph is None:
        raise _tf1(bundle)
    root = next((name for name in _MODEL_NAMES if graph.children_of(name)), None)
    if root is None:
        raise WeightsDoNotFit(
            "the checkpoint holds no detector of the Object Detection API",
            where=prefix,
            found=f"its objects are {', '.join(graph.children_of('')[:8]) or 'none'}; a detector's is called model",
            change="give the checkpoint of a trained detector, not the classifier that its training started from",
        )
    used = {_fill(variable, bundle, graph, root, detector) for variable in detector.variables}
    weights = {
        name
        for name, entry in bundle.tensors.items()
        if entry.dtype in DTYPES and name.startswith(f"{root}/")
    }
    return len({name for name in weights if ".OPTIMIZER_SLOT" not in name} - used)


def _fill(variable: Any, bundle: TensorBundle, graph: ObjectGraph, root: str, detector: Detector) -> str:
    source = source_of(variable.path, detector.spec)
    shape = tuple(int(side) for side in variable.shape)
    key = graph.key_of(f"{root}/{source.path}")
    if key is None or key not in bundle.tensors:
        if source.path.endswith("/gamma") and graph.key_of(f"{root}/{source.path[:-5]}beta") is not None:
            variable.assign(np.ones(shape, np.float32))  # batch_norm { scale: false }
            return ""
        raise _does_not_fit(
            bundle, source.path, f"not in the checkpoint; the network's has the shape {list(shape)}"
        )
    entry = bundle.tensors[key]
    if entry.shape != shape:
        raise _does_not_fit(
            bundle, source.path, f"{list(entry.shape)} in the checkpoint, {list(shape)} by the configuration"
        )
    value = bundle.read(key)
    refuse_unless_finite(value, source.path, bundle.prefix)
    variable.assign(source.change(value).astype("float32"))
    return key


def _does_not_fit(bundle: TensorBundle, name: str, found: str) -> WeightsDoNotFit:
    return WeightsDoNotFit(
        f"the checkpoint does not belong to this configuration: the first tensor that does not fit is {name}",
        where=bundle.prefix,
        found=found,
        change="give the pipeline.config that the checkpoint was trained with, its num_classes included",
    )


def _tf1(bundle: TensorBundle) -> WeightsDoNotFit:
    first = next(iter(bundle.tensors), "nothing")
    return WeightsDoNotFit(
        "the checkpoint is one of TensorFlow 1, whose variables have no objects",
        where=bundle.prefix,
        found=f"its first tensor is {first}, and it has no object graph",
        change="import the configuration alone, and train from there; checkpoints of the API's TF2 models are read",
    )
