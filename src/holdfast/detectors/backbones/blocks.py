"""A backbone as a list of named blocks, so that each can be frozen, priced or computed twice."""

# mypy: allow-subclassing-any

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import keras
from keras import ops

from holdfast.detectors.fusion.fuse import FusedBlock
from holdfast.detectors.fusion.remat import rematerialised

Tensor = Any

# What the ImageNet weights of each family of `keras.applications` were trained on: the same arithmetic as its
# `preprocess_input`, here a part of the backbone, so that it cannot be forgotten, doubled or mixed up.
_CAFFE_MEAN_BGR = (103.939, 116.779, 123.68)


def to_minus_one_and_one(images: Tensor) -> Tensor:
    """For the MobileNets: 0…255 to -1…1."""
    return ops.cast(images, "float32") / 127.5 - 1.0


def to_unit_deviation(images: Tensor) -> Tensor:
    """For torchvision's: 0…1, less ImageNet's mean, by its standard deviation."""
    scaled = ops.cast(images, "float32") / 255.0 - ops.convert_to_tensor((0.485, 0.456, 0.406), "float32")
    return scaled / ops.convert_to_tensor((0.229, 0.224, 0.225), "float32")


def to_zero_mean(images: Tensor) -> Tensor:
    """For torchvision's SSD on VGG16: RGB, less a mean in pixels."""
    scaled = ops.cast(images, "float32") / 255.0 - ops.convert_to_tensor(
        (0.48235, 0.45882, 0.40784), "float32"
    )
    return scaled * 255.0


def to_caffe(images: Tensor) -> Tensor:
    """For VGG16 and ResNet50: RGB to BGR, ImageNet's mean subtracted, no scaling."""
    bgr = ops.flip(ops.cast(images, "float32"), axis=-1)
    return bgr - ops.convert_to_tensor(_CAFFE_MEAN_BGR, dtype="float32")


_PREPARATION = {
    "minus-one-to-one": to_minus_one_and_one, "caffe": to_caffe,
    "mean-and-deviation": to_unit_deviation, "mean": to_zero_mean,
}  # fmt: skip


class Backbone(keras.layers.Layer):
    """From images (b, h, w, 3), 0 to 255, whatever their type, to features of rising stride.

    Batch normalisation always uses its stored statistics, so that no image's result depends on the other
    images of its batch; its scale and shift do train.
    """

    def __init__(
        self,
        blocks: Sequence[keras.Model],
        taps: Sequence[str],
        *,
        preprocessing: str,
        rematerialise: bool = False,
        stage_ends: Sequence[str] = (),
        name: str = "backbone",
    ) -> None:
        super().__init__(name=name)
        last = [block.name for block in blocks].index(taps[-1])
        self.blocks = list(blocks[: last + 1])
        self.taps = tuple(taps)
        self.preprocessing = preprocessing
        self.stage_ends = tuple(stage_ends)
        self.rematerialise = rematerialise

    def call(self, images: Tensor) -> list[Tensor]:
        x = _PREPARATION[self.preprocessing](images)
        features, thin = {}, False
        for block, then in zip(self.blocks, [*self.blocks[1:], None], strict=True):
            unseen = then is not None and block.name not in self.taps and then.looks_at_every_second
            to_thin = unseen and block.can_be_thin
            x = self._run(block, x, from_thin=thin, to_thin=to_thin)
            features[block.name], thin = x, to_thin
        return [features[tap] for tap in self.taps]

    def freeze(self, blocks: int) -> None:
        """The first `blocks` do not train, the others do."""
        for index, block in enumerate(self.blocks):
            block.trainable = index >= blocks

    def freeze_stages(self, stages: int) -> None:
        """The first `stages` never train; a stage is what computes features of one stride. All, if there are fewer."""
        names = [block.name for block in self.blocks]
        ends = [names.index(end) + 1 for end in self.stage_ends or self.taps if end in names]
        last = 0 if not stages else ends[stages - 1] if stages <= len(ends) else len(names)
        for block in self.blocks[:last]:
            block.trainable = False

    def _run(self, block: keras.Model, x: Tensor, **how: bool) -> Tensor:
        if self.rematerialise:
            return rematerialised(block, x, training=False, **how)
        return block(x, training=False, **how)


def split(model: keras.Model, cuts: Sequence[tuple[str, str]]) -> list[keras.Model]:
    """Cut a functional model into blocks; `cuts` are (name of the block, name of its last layer) in order.

    Every cut must be a single tensor that all later layers see the earlier ones through.
    """
    start = model.input
    blocks = []
    for name, last_layer in cuts:
        end = model.get_layer(last_layer).output
        blocks.append(FusedBlock(start, end, name))
        start = end
    return blocks
