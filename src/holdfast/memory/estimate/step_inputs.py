"""What a step of a setup is made of, whichever backend makes it: the detector's spec, the rule, a batch."""

from __future__ import annotations

import numpy as np

from holdfast.detectors.spec import DetectorSpec
from holdfast.memory.step_config import StepConfig
from holdfast.step.optimizer import OptimizerConfig


def spec_of(setup: StepConfig) -> DetectorSpec:
    names = tuple(f"class {number}" for number in range(setup.classes))
    return DetectorSpec(
        setup.detector, setup.backbone, names, (setup.input, setup.input), precision=setup.precision,
        normalization=setup.normalization, rematerialise=setup.rematerialise,
    )  # fmt: skip


def optimizer_config_of(setup: StepConfig) -> OptimizerConfig:
    """As `train.assemble.rule` has it by default: what its numbers are does not matter to memory."""
    return OptimizerConfig(
        optimizer=setup.optimizer, weight_decay=1e-4, clip_norm=10.0, ema=0.999 if setup.ema else None,
        loss_scaling=setup.precision == "float16",
    )  # fmt: skip


def batch_of(setup: StepConfig, batch: int) -> dict[str, np.ndarray]:
    """A batch as the pipeline sends it, of black pictures whose every row of boxes is taken."""
    side, boxes = setup.input, setup.boxes
    corners = np.linspace(0, side / 2, boxes, dtype=np.float32)[None, :, None].repeat(batch, axis=0)
    found = {
        **_image_arrays(setup, batch),
        "boxes": np.concatenate([corners, corners, corners + side / 4, corners + side / 4], axis=-1),
        "labels": np.zeros((batch, boxes), np.int32),
        "real": np.ones((batch, boxes), bool),
        "crowd": np.zeros((batch, boxes), bool),
        "image": np.arange(batch, dtype=np.int32),
    }
    if setup.changes_colour:
        found["colour"] = np.tile(np.array([[0.0, 1.0, 1.0, 0.0]], np.float32), (batch, 1))
    return found


def _image_arrays(setup: StepConfig, batch: int) -> dict[str, np.ndarray]:
    side = setup.input
    if not setup.sent_pixels:
        return {"images": np.zeros((batch, side, side, 3), np.uint8)}
    view = np.array([[side, side, 0, side, 1, side, side, 0, 0]], np.int32)
    return {
        "pixels": np.zeros((batch, setup.sent_pixels, 3), np.uint8),
        "view": np.repeat(view, batch, axis=0),
    }
