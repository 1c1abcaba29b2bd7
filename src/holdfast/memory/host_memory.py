"""What a run takes of the machine's own memory: pipeline, cache, checkpoint copies, evaluation, and the framework."""

from __future__ import annotations

from dataclasses import dataclass

from holdfast.memory.breakdown import MemoryItem

MIB = 2**20
#: Resident after importing TensorFlow and Keras, and building a detector: 560 to 640 MiB, TensorFlow 2.21 on Linux.
FRAMEWORK_BYTES = 600 * MIB
#: JAX beside it, when it computes.
JAX_BYTES = 180 * MIB
#: XLA while it compiles a detector's step: 0.9 to 1.4 GiB resident in the worker, given back in part.
COMPILER_BYTES = 900 * MIB
PREFETCHED = 2  # batches that are ready, as `pipeline.stream` has it
DETECTIONS = 100  # kept of a picture, by NMS
DETECTION_BYTES = 56  # five columns of float64 and int64, and the copies while they are joined


@dataclass(frozen=True, slots=True)
class HostFacts:
    """What is known of the data and the machine before a run. Sizes are bytes."""

    batch: int
    picture_pixels: int  # of one in a batch
    boxes: int
    threads: int
    largest_picture: int  # decoded, the largest single picture at the ratio it is decoded at
    cache: int  # what `pipeline.budget` decides to keep; 0 when nothing
    cache_kind: str
    state: int  # weights, moments, average and statistics
    validation_pictures: int
    jax: bool
    on_card: bool


def host_items(facts: HostFacts) -> tuple[MemoryItem, ...]:
    """Line by line; the step itself is not among them."""
    one_batch = facts.batch * (facts.picture_pixels * 3 + facts.boxes * 22)
    found = [
        MemoryItem("Python, TensorFlow and Keras", FRAMEWORK_BYTES + (JAX_BYTES if facts.jax else 0), "estimated"),
        MemoryItem("compiling the step", COMPILER_BYTES if facts.jax or facts.on_card else 0, "estimated"),
        MemoryItem(f"pictures being decoded, {facts.threads} at once, the largest of the data",
             2 * facts.threads * facts.largest_picture, "counted"),
        MemoryItem("batches: being filled, prefetched, and in use", (PREFETCHED + 2) * one_batch, "counted"),
        MemoryItem(f"cache of {facts.cache_kind} pictures", facts.cache, "counted"),
        MemoryItem("order of the pictures (no shuffle buffer: pictures are drawn by number)", 0, "counted"),
        MemoryItem("checkpoint: a copy of the state, and one being written", 2 * facts.state, "counted"),
        MemoryItem("detections of a validation", facts.validation_pictures * DETECTIONS * DETECTION_BYTES, "counted"),
    ]  # fmt: skip
    return tuple(line for line in found if line.bytes)
