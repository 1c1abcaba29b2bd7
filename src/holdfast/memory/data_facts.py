"""What memory prediction takes from a recipe and its data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from holdfast.detectors.model_paths import initial_model, read_spec
from holdfast.detectors.spec import suggested_normalization
from holdfast.host.process_limits import usable_cores
from holdfast.memory.host_memory import HostFacts
from holdfast.memory.step_config import StepConfig
from holdfast.settings.pretrained import find_pretrained
from holdfast.settings.recipe import Recipe

ASSUMED_BOXES, ASSUMED_CLASSES = 100, 80


@dataclass(frozen=True, slots=True)
class DataFacts:
    """Of the training set: the most boxes in an image and the largest image, not averages."""

    classes: int
    max_boxes: int  # rows that the boxes of every image are padded to
    images: int
    validation_images: int
    largest_image_bytes: int  # decoded
    cache_bytes: int
    cache_kind: str
    notes: str  # where this is from
    sent_pixels: int = 0  # of an image, when the step resizes it


def step_config_of(recipe: Recipe, data: DataFacts) -> StepConfig:
    model, train = recipe.model, recipe.train
    configured: Any = train.micro_batch
    saved = initial_model(model.weights)
    own = read_spec(saved) if saved is not None else {}
    named = find_pretrained(model.weights or "", model.detector, model.backbone)
    variant = named.variant if named is not None else own.get("variant", "")
    if not variant and (model.weights or "").endswith((".pth", ".pt")):
        variant = "torchvision"
    return StepConfig(
        detector=model.detector, backbone=model.backbone, input=model.input, classes=data.classes, boxes=data.max_boxes,
        batch=train.batch, micro_batch=configured if isinstance(configured, int) else train.batch,
        precision=train.precision, optimizer=train.optimizer, ema=bool(train.ema),
        normalization=own.get("normalization") or suggested_normalization(model.backbone, model.weights),
        rematerialise=train.rematerialise,
        changes_colour=recipe.data.augment != "none", backend=train.backend, sent_pixels=data.sent_pixels,
        variant=variant,
    )  # fmt: skip


def host_facts_of(recipe: Recipe, data: DataFacts, *, state_bytes: int, on_gpu: bool) -> HostFacts:
    return HostFacts(
        batch=recipe.train.batch, image_pixels=data.sent_pixels or recipe.model.input**2, max_boxes=data.max_boxes,
        threads=usable_cores(),
        largest_image_bytes=data.largest_image_bytes, cache_bytes=data.cache_bytes, cache_kind=data.cache_kind,
        state_bytes=state_bytes,
        validation_images=data.validation_images, jax=recipe.train.backend == "jax", on_gpu=on_gpu,
    )  # fmt: skip
