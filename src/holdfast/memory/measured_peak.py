"""The measured peak, compared with the prediction: reported once after the first steps, and recorded."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from holdfast.journal import events as ev
from holdfast.memory import corrections
from holdfast.memory.estimate.cpu_trial import resident_peak_bytes
from holdfast.units import exact_size

AFTER_STEPS = 3
#: A peak above this times the prediction comes from the autotuner in a first compilation, and is not recorded.
AUTOTUNED = 1.25


@dataclass(frozen=True, slots=True)
class DeviceLimit:
    """The GPU that this process computes on, and what its allocator may take."""

    name: str
    limit_bytes: int


@dataclass(frozen=True, slots=True)
class MeasuredPeak:
    bytes: int
    where: Literal["card", "host"]
    limit_bytes: int | None = None


def device_limit(backend: str) -> DeviceLimit | None:
    """The GPU that the backend sees; None when it computes on the CPU."""
    with contextlib.suppress(Exception):
        if backend == "jax":
            import jax

            device = jax.devices()[0]
            stats = device.memory_stats() if device.platform == "gpu" else None
            return DeviceLimit(device.device_kind, int(stats["bytes_limit"])) if stats else None
        import tensorflow as tf

        from holdfast.host.nvml import local_gpu

        gpu = local_gpu() if tf.config.list_physical_devices("GPU") else None
        return DeviceLimit(gpu.name, gpu.free_bytes) if gpu else None
    return None


def measure_peak(backend: str) -> MeasuredPeak:
    """The peak so far: of the GPU's allocator if there is one, else of the process."""
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
    return MeasuredPeak(resident_peak_bytes(), "host")


class MemoryObserver:
    """After the third step, measures the peak; reports and records it once the plan is made."""

    name = "the memory observer"

    def __init__(
        self,
        planned: Callable[[], Any],  # a MicroBatchPlan; None until it is made
        backend: str,
        notify: Callable[[ev.Event], None],
        measure: Callable[[str], MeasuredPeak] = measure_peak,
        record: Callable[[corrections.PredictionRecord], None] = corrections.add,
    ) -> None:
        self._planned, self._backend, self._notify = planned, backend, notify
        self._measure, self._record = measure, record
        self._steps, self._reported = 0, False
        self._peak: MeasuredPeak | None = None

    def notify(self, event: ev.Event) -> None:
        if self._reported or not isinstance(event, ev.LossSeen):
            return
        self._steps += 1
        if self._steps == AFTER_STEPS:
            self._peak = self._measure(self._backend)
        planned = self._planned()
        if self._peak is not None and planned is not None:
            self._reported = True
            self._report(self._peak, planned)

    def _report(self, peak: MeasuredPeak, planned: Any) -> None:
        predicted = planned.predicted_bytes if peak.where == "card" else None
        learned = False
        if predicted is not None and peak.bytes <= AUTOTUNED * predicted:
            learned = True
            self._record(corrections.PredictionRecord(planned.gpu, corrections.jax_version(), planned.config.label(),
                                            predicted, peak.bytes))  # fmt: skip
        self._notify(
            ev.MemoryMeasured(
                measured_bytes=peak.bytes, where=peak.where, limit_bytes=peak.limit_bytes,
                predicted_bytes=predicted, method=planned.method, learned=learned, setup=planned.config.label(),
            )
        )  # fmt: skip


def comparison_text(event: ev.MemoryMeasured) -> str:
    where = "GPU" if event.where == "card" else "host"
    text = f"the first steps took {exact_size(event.measured_bytes)} of {where} memory at the peak"
    if event.predicted_bytes is None:
        return text
    more = event.measured_bytes / event.predicted_bytes - 1
    text += f"; predicted: {exact_size(event.predicted_bytes)} ({more:+.1%})"
    return text if event.learned else f"{text}, including the autotuner of a first compilation: not recorded"
