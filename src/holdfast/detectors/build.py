"""A detector from its spec."""

from __future__ import annotations

import random
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
from holdfast.detectors.variants import build_variant

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
    with seeded(seed), _policy(spec.dtype_policy):
        if spec.variant:
            return build_variant(spec)
        if spec.detector == "ssd":
            return SSD(spec, weights)
        if spec.detector == "retinanet":
            return RetinaNet(spec, weights)
        return FasterRCNN(spec, weights)


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Within, the same seed gives the same fresh weights, whatever other threads do.

    Keras draws the seed of each initializer from Python's global generator with `random.randint`. A thread that
    retries a request to a bucket draws from that generator too, so `randint` has its own one meanwhile.
    """
    keras.utils.set_random_seed(seed)
    before, random.randint = random.randint, random.Random(seed).randint
    try:
        yield
    finally:
        random.randint = before


@contextmanager
def _policy(name: str) -> Iterator[None]:
    before = keras.config.dtype_policy()
    keras.config.set_dtype_policy(name)
    try:
        yield
    finally:
        keras.config.set_dtype_policy(before)
