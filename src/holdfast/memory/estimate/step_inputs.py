"""What a step is built from, on either backend: the detector's spec, the optimizer's config, a batch."""

from __future__ import annotations

import numpy as np

from holdfast.detectors.spec import DetectorSpec
from holdfast.memory.step_config import StepConfig
from holdfast.step.optimizer import OptimizerConfig


def spec_of(config: StepConfig) -> DetectorSpec:
    names = tuple(f"class {number}" for number in range(config.classes))
    return DetectorSpec(
        config.detector, config.backbone, names, (config.input, config.input), precision=config.precision,
        normalization=config.normalization, rematerialise=config.rematerialise, variant=config.variant,
    )  # fmt: skip


def optimizer_config_of(config: StepConfig) -> OptimizerConfig:
    """The defaults of a recipe; the values do not matter for memory."""
    return OptimizerConfig(
        optimizer=config.optimizer, weight_decay=1e-4, clip_norm=10.0, ema=0.999 if config.ema else None,
        loss_scaling=config.precision == "float16",
    )  # fmt: skip


def batch_of(config: StepConfig, batch: int) -> dict[str, np.ndarray]:
    """A batch as the pipeline sends it, of black images with every row of boxes used."""
    side, boxes = config.input, config.boxes
    corners = np.linspace(0, side / 2, boxes, dtype=np.float32)[None, :, None].repeat(batch, axis=0)
    batch_arrays = {
        **_image_arrays(config, batch),
        "boxes": np.concatenate([corners, corners, corners + side / 4, corners + side / 4], axis=-1),
        "labels": np.zeros((batch, boxes), np.int32),
        "real": np.ones((batch, boxes), bool),
        "crowd": np.zeros((batch, boxes), bool),
        "image": np.arange(batch, dtype=np.int32),
    }
    if config.changes_colour:
        batch_arrays["colour"] = np.tile(np.array([[0.0, 1.0, 1.0, 0.0]], np.float32), (batch, 1))
    return batch_arrays


def _image_arrays(config: StepConfig, batch: int) -> dict[str, np.ndarray]:
    side = config.input
    if not config.sent_pixels:
        return {"images": np.zeros((batch, side, side, 3), np.uint8)}
    view = np.array([[side, side, 0, side, 1, side, side, 0, 0]], np.int32)
    return {
        "pixels": np.zeros((batch, config.sent_pixels, 3), np.uint8),
        "view": np.repeat(view, batch, axis=0),
    }
