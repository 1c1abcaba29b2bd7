"""Host memory of a run: pipeline, cache, checkpoint copies, evaluation, and the framework."""

from __future__ import annotations

from dataclasses import dataclass

from holdfast.memory.breakdown import MemoryItem
from holdfast.pipeline.feed import USED_BATCHES, batches_ahead

MIB = 2**20
#: Resident after importing TensorFlow and Keras, and building a detector: 560 to 640 MiB, TensorFlow 2.21 on Linux.
FRAMEWORK_BYTES = 600 * MIB
#: JAX in addition, when it computes.
JAX_BYTES = 180 * MIB
#: XLA while it compiles a detector's step: 0.9 to 1.4 GiB resident in the worker, partly returned later.
COMPILER_BYTES = 900 * MIB
DETECTIONS = 100  # kept per image, by NMS
DETECTION_BYTES = 56  # five columns of float64 and int64, and copies while they are concatenated


@dataclass(frozen=True, slots=True)
class HostFacts:
    """What is known about the data and the machine before a run."""

    batch: int
    image_pixels: int  # of one image in a batch
    max_boxes: int
    threads: int
    largest_image_bytes: int  # decoded, at the ratio it is decoded at
    cache_bytes: int  # what `pipeline.cache_budget` decides to cache; 0 for nothing
    cache_kind: str
    state_bytes: int  # weights, moments, EMA and statistics
    validation_images: int
    jax: bool
    on_gpu: bool


def host_items(facts: HostFacts) -> tuple[MemoryItem, ...]:
    """Without the step itself."""
    one_batch = facts.batch * (facts.image_pixels * 3 + facts.max_boxes * 22)
    batches = batches_ahead(facts.batch, facts.threads) + USED_BATCHES
    items = [
        MemoryItem("Python, TensorFlow and Keras", FRAMEWORK_BYTES + (JAX_BYTES if facts.jax else 0), "estimated"),
        MemoryItem("compiling the step", COMPILER_BYTES if facts.jax or facts.on_gpu else 0, "estimated"),
        MemoryItem(f"images being decoded, {facts.threads} at once, of the largest size",
             2 * facts.threads * facts.largest_image_bytes, "counted"),
        MemoryItem("batches: being filled, prefetched, and in use", batches * one_batch, "counted"),
        MemoryItem(f"cache of {facts.cache_kind} images", facts.cache_bytes, "counted"),
        MemoryItem("order of the images (no shuffle buffer: images are drawn by number)", 0, "counted"),
        MemoryItem("checkpoint: a copy of the state, and one being written", 2 * facts.state_bytes, "counted"),
        MemoryItem("detections of a validation", facts.validation_images * DETECTIONS * DETECTION_BYTES, "counted"),
    ]  # fmt: skip
    return tuple(item for item in items if item.bytes)
