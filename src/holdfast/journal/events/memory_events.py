"""Memory of the host and of the GPU."""

from __future__ import annotations

from ...typing_names import Literal
from .event import Event, Json, field


class HoldingsSeen(Event):
    """Containers and objects that a user's callbacks, modules or closures keep and that have grown."""

    step: int | None = None
    rss_bytes: int | None = None
    # {"name", "type", "length", "bytes", "grew_by", "where", "limit", "queue", "taken"}
    items: list[Json] = field(default_factory=list)
    # {"Model": 12, "EagerTensor": 5000}: of framework objects alive
    object_counts: Json = field(default_factory=dict)


class FootprintMeasured(Event):
    """Memory after the first two steps of a fit. None: not known, or no GPU."""

    weights_bytes: int = 0
    gradients_bytes: int = 0
    optimizer_bytes: int = 0
    host_peak_bytes: int = 0
    gpu_peak_bytes: int | None = None
    gpu_limit_bytes: int | None = None


class MemoryPredicted(Event):
    """What the trainer's step will take of the GPU, worked out before it is compiled."""

    predicted_bytes: int | None = None
    text: str = ""  # for a person


class MemoryMeasured(Event):
    """The peak after the first three steps of the trainer, and what had been predicted."""

    measured_bytes: int = 0
    where: Literal["card", "host"] = "host"  # "card": the GPU
    limit_bytes: int | None = None
    predicted_bytes: int | None = None
    method: str = ""  # of the prediction
    learned: bool = False  # the next prediction is corrected by it
    setup: str = ""


class MicroBatchSet(Event):
    """The trainer's micro-batch from here on."""

    micro_batch: int = 0  # images
    was: int | None = None  # before; None at the start of an attempt
    batch: int = 0  # images of one optimizer step, which stays
    reason: Literal["start", "killed-for-memory", "out-of-memory"] = "start"
    step: int | None = None  # at which memory ran out
    error: str = ""


class ValidationBatchReduced(Event):
    """Memory ran out in validation: fewer images at once from here on."""

    batch: int = 0
    was: int = 0
