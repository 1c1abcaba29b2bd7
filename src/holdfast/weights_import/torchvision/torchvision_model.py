"""A state dict of torchvision as weights of the same detector here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast.detectors import model_file
from holdfast.detectors.build import Detector, build
from holdfast.detectors.class_heads import head_width, is_class_head
from holdfast.detectors.model_file import WeightLoadReport
from holdfast.detectors.spec import DetectorSpec
from holdfast.detectors.torchvision.named_layers import torch_name
from holdfast.detectors.torchvision.torchvision_backbones import EPSILON
from holdfast.errors import WeightsDoNotFit
from holdfast.weights_import.finite_weights import refuse_unless_finite
from holdfast.weights_import.torchvision.architecture import Architecture
from holdfast.weights_import.torchvision.torchvision_file import TorchvisionFile

Array = NDArray[Any]

REGION_CELLS = 7 * 7


def spec_of(
    file: TorchvisionFile, classes: tuple[str, ...] | None = None, side: int | None = None
) -> DetectorSpec:
    """`classes` in place of COCO's or numbered names, `side` in place of the usual input."""
    found = file.architecture
    size = (side or found.input, side or found.input)
    return DetectorSpec(found.detector, found.backbone, classes or found.classes, size, variant=found.variant)


def fine_tune(
    path: Path,
    classes: tuple[str, ...],
    *,
    input_size: tuple[int, int],
    precision: str,
    expected: Mapping[str, str],
    rematerialise: bool = False,
    seed: int = 0,
) -> tuple[Detector, WeightLoadReport]:
    """The file's detector for other classes, as `model_file.fine_tune`."""
    file = TorchvisionFile(path)
    spec = spec_of(file)
    model_file.check_expected(spec, expected, path)
    wanted = replace(
        spec, classes=classes, input=input_size, precision=precision, rematerialise=rematerialise
    )
    detector = build(wanted, seed=seed)
    return detector, model_file.fill(detector, arrays_for(file, detector), of_classes=spec.classes)


def arrays_for(file: TorchvisionFile, detector: Detector) -> dict[str, Array]:
    """Each weight by its name here, heads with the classes of the file; the first that does not fit is named."""
    wanted = {torch_name(variable.path): variable for variable in detector.variables}
    _check(file, wanted, detector.spec)
    return _converted(file, wanted)


def _check(file: TorchvisionFile, wanted: Mapping[str, Any], spec: DetectorSpec) -> None:
    for name, variable in wanted.items():
        here = shape_in_torch(variable, spec, file.architecture.outputs)
        there = file.shapes.get(name)
        if there != here:
            raise _misfit(file, name, there, here)
    more = [name for name in file.shapes if name not in wanted]
    if more:
        raise _misfit(file, more[0], file.shapes[more[0]], None)


def _misfit(
    file: TorchvisionFile, name: str, there: tuple[int, ...] | None, here: tuple[int, ...] | None
) -> WeightsDoNotFit:
    reason = (
        "is missing" if there is None else f"is {there}, and there is no such tensor"
        if here is None else f"is {there}, and {here} fits"
    )  # fmt: skip
    return WeightsDoNotFit(
        f"the file is not torchvision's {file.architecture.name}: {name} {reason}",
        where=file.path,
        found=f"{file.architecture.outputs} classes, the background among them, by the file's heads",
        change="give a state dict of the unchanged architecture; only the number of classes may differ",
    )


def _converted(file: TorchvisionFile, wanted: Mapping[str, Any]) -> dict[str, Array]:
    found = {}
    statistics = {}
    for name, array in file.arrays():
        if name not in wanted:
            continue
        variable = wanted[name]
        refuse_unless_finite(array, name, file.path)
        value = _turned(array.astype(np.float32, copy=False), _is_depthwise(variable))
        if is_class_head(variable.path):
            value = _background_last(file.architecture, variable.path, value)
        found[variable.path] = value
        if name.endswith("running_var"):
            statistics[variable.path] = value
    if file.epsilon not in (None, EPSILON):
        _absorb_epsilon(found, statistics, file.epsilon)
    return found


def _background_last(found: Architecture, path: str, value: Array) -> Array:
    """torch has the background first; RetinaNet's is a class like the others."""
    outputs = found.outputs
    if found.detector == "retinanet":
        return value
    if "bbox_pred" in path:  # a box of the background is never looked at
        return value.reshape(*value.shape[:-1], outputs, 4)[..., 1:, :].reshape(*value.shape[:-1], -1)
    by_class = value.reshape(*value.shape[:-1], -1, outputs)
    return np.roll(by_class, -1, axis=-1).reshape(value.shape)


def shape_in_torch(variable: Any, spec: DetectorSpec, outputs: int) -> tuple[int, ...]:
    """The shape of a variable's tensor in a state dict whose heads have `outputs` classes, with the background."""
    shape = tuple(variable.shape)
    if is_class_head(variable.path):
        softmax = spec.detector != "retinanet"
        width = head_width(variable.path, shape[-1], outputs - softmax, len(spec.classes), background=softmax)
        boxes = 4 if "box_predictor.bbox_pred" in variable.path else 0  # torch has one for the background too
        shape = (*shape[:-1], width + boxes)
    if len(shape) == 4:
        height, width, inside, out = shape
        return (inside, 1, height, width) if _is_depthwise(variable) else (out, inside, height, width)
    return shape[::-1]


def _is_depthwise(variable: Any) -> bool:
    return len(variable.shape) == 4 and variable.shape[3] == 1 and variable.shape[2] > 1


def _turned(array: Array, depthwise: bool) -> Array:
    """Channels last; a dense layer behind regions takes them cell by cell, where torch takes channel by channel."""
    if array.ndim == 4:
        return np.ascontiguousarray(array.transpose((2, 3, 0, 1) if depthwise else (2, 3, 1, 0)))
    if array.ndim != 2:
        return array
    out, inside = array.shape
    if inside % REGION_CELLS == 0:
        channels = inside // REGION_CELLS
        array = array.reshape(out, channels, REGION_CELLS).transpose(0, 2, 1).reshape(out, inside)
    return np.ascontiguousarray(array.T)


def _absorb_epsilon(found: dict[str, Array], variances: Mapping[str, Array], epsilon: float) -> None:
    """Scales such that the normalisations here, which add `EPSILON`, compute what was computed with `epsilon`."""
    for path, variance in variances.items():
        scale = path.rpartition("/")[0] + "/gamma"
        exact = variance.astype(np.float64)
        with np.errstate(divide="ignore", invalid="ignore"):
            factor = np.sqrt((exact + EPSILON) / (exact + epsilon))
        found[scale] = np.where(np.isfinite(factor), found[scale] * factor, found[scale]).astype(np.float32)
