"""The measured peak beside the predicted one: told once after the first steps, and kept for the next prediction."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from holdfast.journal import events as ev
from holdfast.memory import corrections
from holdfast.memory.byte_sizes import shown
from holdfast.memory.estimate.cpu_trial import resident_peak_bytes as resident_peak

AFTER_STEPS = 3
#: A peak so far above the prediction is the autotuner's of a first compilation, and teaches nothing.
AUTOTUNED = 1.25


@dataclass(frozen=True, slots=True)
class DeviceLimit:
    """A card that this process computes on: what its allocator may take."""

    name: str
    limit_bytes: int


@dataclass(frozen=True, slots=True)
class MeasuredPeak:
    bytes: int
    where: Literal["card", "host"]
    limit_bytes: int | None = None


def device_limit(backend: str) -> DeviceLimit | None:
    """The card that the backend sees; None when it computes on the processor."""
    with contextlib.suppress(Exception):
        if backend == "jax":
            import jax

            device = jax.devices()[0]
            stats = device.memory_stats() if device.platform == "gpu" else None
            return DeviceLimit(device.device_kind, int(stats["bytes_limit"])) if stats else None
        import tensorflow as tf

        from holdfast.host.nvml import local_gpu

        found = local_gpu() if tf.config.list_physical_devices("GPU") else None
        return DeviceLimit(found.name, found.free_bytes) if found else None
    return None


def measure_peak(backend: str) -> MeasuredPeak:
    """The peak so far: of the card's allocator where there is one, else of the process."""
    with contextlib.suppress(Exception):
        if backend == "jax":
            import jax

            stats = jax.devices()[0].memory_stats()
            if stats:
                return MeasuredPeak(
                    int(stats["peak_bytes_in_use"]), "card", int(stats.get("bytes_limit", 0)) or None
                )
        else:
            import tensorflow as tf

            if tf.config.list_physical_devices("GPU"):
                return MeasuredPeak(int(tf.config.experimental.get_memory_info("GPU:0")["peak"]), "card")
    return MeasuredPeak(resident_peak(), "host")


class MemoryObserver:
    """Sees the losses; after the third step it says what was taken, and remembers it."""

    def __init__(
        self,
        planned: Any,
        backend: str,
        say: Callable[[ev.Event], None],
        look: Callable[[str], MeasuredPeak] = measure_peak,
        remember: Callable[[corrections.PredictionRecord], None] = corrections.add,
    ) -> None:
        self._planned, self._backend, self._say = planned, backend, say
        self._look, self._remember = look, remember
        self._steps, self._told = 0, False

    def say(self, event: ev.Event) -> None:
        if self._told or not isinstance(event, ev.LossSeen):
            return
        self._steps += 1
        if self._steps >= AFTER_STEPS:
            self._told = True
            self._tell(self._look(self._backend))

    def _tell(self, found: MeasuredPeak) -> None:
        planned = self._planned
        predicted = planned.predicted_bytes if found.where == "card" else None
        learned = False
        if predicted is not None and found.bytes <= AUTOTUNED * predicted:
            learned = True
            self._remember(corrections.PredictionRecord(planned.card, corrections.jax_version(), planned.setup.short(),
                                            predicted, found.bytes))  # fmt: skip
        self._say(
            ev.MemoryMeasured(
                measured_bytes=found.bytes, where=found.where, limit_bytes=found.limit_bytes,
                predicted_bytes=predicted, method=planned.method, learned=learned, setup=planned.setup.short(),
            )
        )  # fmt: skip


def comparison_text(event: ev.MemoryMeasured) -> str:
    where = "the card" if event.where == "card" else "the host"
    said = f"the first steps took {shown(event.measured_bytes)} of {where}'s memory at the highest"
    if event.predicted_bytes is None:
        return said
    more = event.measured_bytes / event.predicted_bytes - 1
    said += f"; predicted were {shown(event.predicted_bytes)} ({more:+.1%})"
    return (
        said
        if event.learned
        else said + ", with the autotuner of a first compilation in it: not learned from"
    )
