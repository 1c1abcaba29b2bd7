"""A detector from its spec."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Protocol

import keras

from holdfast.detectors.backbones.blocks import Backbone
from holdfast.detectors.batch import Batch
from holdfast.detectors.faster_rcnn import FasterRCNN
from holdfast.detectors.ops.nms import Detections
from holdfast.detectors.retinanet import RetinaNet
from holdfast.detectors.spec import DetectorSpec, check
from holdfast.detectors.ssd import SSD

Tensor = Any


class Detector(Protocol):
    """What every detector is: a `keras.Model` with these. Inputs and outputs are of fixed shape."""

    spec: DetectorSpec
    backbone: Backbone
    variables: list[Any]
    trainable_variables: list[Any]
    non_trainable_variables: list[Any]

    def losses_of(self, batch: Batch) -> dict[str, Tensor]:
        """One number an image for each part of the loss; `batch.total` adds them up."""
        ...

    def detect(self, images: Tensor) -> Detections: ...


def build(spec: DetectorSpec, weights: str | None = None, *, seed: int = 0) -> Detector:
    """A fresh detector; `weights` are the backbone's: a file, a folder, "imagenet", or None.

    The same seed gives the same fresh weights.
    """
    check(spec)
    keras.utils.set_random_seed(seed)
    with _policy(spec.dtype_policy):
        if spec.detector == "ssd":
            return SSD(spec, weights)
        if spec.detector == "retinanet":
            return RetinaNet(spec, weights)
        return FasterRCNN(spec, weights)


@contextmanager
def _policy(name: str) -> Iterator[None]:
    before = keras.config.dtype_policy()
    keras.config.set_dtype_policy(name)
    try:
        yield
    finally:
        keras.config.set_dtype_policy(before)
