"""From counted, compiled or estimated bytes to items, a total with its uncertainty, and an answer. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from holdfast.memory.bfc_allocator import LoopAllocations, simulate
from holdfast.memory.gpu_catalogue import GpuSpec

ValueBasis = Literal["counted", "estimated", "measured"]
FitAnswer = Literal["fits", "does-not-fit", "too-close"]
MIB = 2**20

#: Outside the allocator's pool: the CUDA context and loaded kernels, 556 to 598 MiB on an H200.
CONTEXT_BYTES = 600 * MIB
#: Losses, seeds, counters, and fragmentation: up to 5 MB on an H200.
SMALL_BYTES = 4 * MIB


@dataclass(frozen=True, slots=True)
class MemoryItem:
    label: str
    bytes: int
    basis: ValueBasis

    def as_json(self) -> dict[str, Any]:
        return {"what": self.label, "bytes": self.bytes, "known": self.basis}


@dataclass(frozen=True, slots=True)
class EstimateMethod:
    """How wrong a method has been: measured values were between `low_factor` times its estimate, and `high_factor`
    times it plus `extra_bytes`."""

    name: str
    low_factor: float
    high_factor: float
    extra_bytes: int
    validated_on: str

    @property
    def is_lower_bound(self) -> bool:
        return self.high_factor == float("inf")


METHODS = {
    "compiled": EstimateMethod(
        "compiled for the GPU ahead of time", 0.97, 1.015, 128 * MIB,
        "25 configurations on an H200: median error 0.1 %, from 0.8 % under to 0.8 % over",
    ),
    "compiled-guessed": EstimateMethod(
        "compiled ahead of time for a GPU described from its datasheet", 0.90, 1.08, 128 * MIB,
        "no such GPU was measured; the same steps compiled for other GPUs differed by -3 to +1 % in float32 "
        "and by 6 to 14 % in float16",
    ),
    "compiled-tensorflow": EstimateMethod(
        "the same step compiled ahead of time through JAX", 0.80, 1.20, 128 * MIB,
        "it was not compared with TensorFlow's own step on a GPU",
    ),
    "liveness": EstimateMethod(
        "liveness of the traced step", 0.80, 1.36, 128 * MIB,
        "against the compiler's own count of 9 configurations: from 24 % under to 16 % over, a median of 14 %",
    ),
    "line": EstimateMethod(
        "a line through small trials on this machine", 0.85, 1.10, 64 * MIB,
        "four models in control groups with a limit: from 5 % over to 16 % under, so what fits by the line is also run",
    ),
    "run": EstimateMethod(
        "some steps were run on this machine", 0.93, 1.05, 64 * MIB,
        "repeated runs differed by up to 1 % for a Faster R-CNN and 6 % for an SSD, so each is run twice",
    ),
    "counted": EstimateMethod("a plain count", 1.0, float("inf"), 0, "a lower bound: it leaves out all activations"),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class MemoryBreakdown:
    """`step_peak_bytes` is the peak of the allocator; the total adds what is outside its pool."""

    items: tuple[MemoryItem, ...]
    method: EstimateMethod
    step_peak_bytes: int
    outside_pool_bytes: int
    validation_bytes: int = 0  # of a validation between steps, estimated; 0 when unknown
    state_bytes: int = 0  # weights, moments, EMA and statistics, once, as copied for a checkpoint

    @property
    def total_bytes(self) -> int:
        return self.step_peak_bytes + self.outside_pool_bytes

    @property
    def upper_step_bytes(self) -> int:
        """The most that the step will take, by the method's largest error so far."""
        if self.method.is_lower_bound:
            return 1 << 62
        return int(self.step_peak_bytes * self.method.high_factor) + self.method.extra_bytes

    @property
    def upper_total_bytes(self) -> int:
        return self.upper_step_bytes + self.outside_pool_bytes

    @property
    def lower_step_bytes(self) -> int:
        return int(self.step_peak_bytes * self.method.low_factor)

    def fits(self, memory_bytes: int) -> FitAnswer:
        if self.upper_total_bytes <= memory_bytes:
            return "fits"
        return (
            "does-not-fit" if self.lower_step_bytes + self.outside_pool_bytes > memory_bytes else "too-close"
        )


def device_breakdown(
    answer: Mapping[str, Any],
    gpu: GpuSpec | None = None,
    *,
    method: str,
    correction_bytes: int = 0,
    backend: str = "jax",
) -> MemoryBreakdown:
    """The items of a step on a GPU, from the answer of the prediction worker. `method` is compiled or liveness."""
    compiled = answer.get("compiled")
    state = answer["state"]
    if method == "liveness" or compiled is None:
        temp, donated = int(answer["liveness"]["temp_bytes"]), False
        results = answer["weights"]  # the squared gradients, returned in case something is not finite
        estimate = METHODS["liveness"]
    else:
        temp, donated = int(compiled["temp_bytes"]), compiled["alias_bytes"] > state // 2
        results = max(0, compiled["output_bytes"] - state)
        estimate = METHODS[_compiled_method(gpu, backend)]
    items = [*_state_items(answer, donated, results), *_temporary_items(answer, temp, compiled is not None)]
    requested = sum(item.bytes for item in items)
    allocated = simulate(loop_allocations(answer, temp, results, donated)) or requested
    if allocated > requested:
        items.append(
            MemoryItem("allocator: chunks larger than requested", allocated - requested, "estimated")
        )
    items.append(MemoryItem("small arrays alive before the step", SMALL_BYTES, "estimated"))
    if correction_bytes:
        items.append(
            MemoryItem("excess of earlier runs here over their prediction", correction_bytes, "measured")
        )
    step = sum(item.bytes for item in items)
    items.append(MemoryItem("framework and CUDA context, outside the pool", CONTEXT_BYTES, "estimated"))
    once = answer["weights"] + answer["moments"] + answer["average"] + answer["fixed"]
    return MemoryBreakdown(
        tuple(items), estimate, step, CONTEXT_BYTES, _validation_bytes(answer), state_bytes=once
    )


def _validation_bytes(answer: Mapping[str, Any]) -> int:
    """Between steps one state is alive, with the model's weights, the masks and a batch of images."""
    temp = int(answer.get("validation_temp") or 0)
    return temp and temp + answer["state"] + answer["model"] + answer["masks"] + answer["batch"]


def _compiled_method(gpu: GpuSpec | None, backend: str) -> str:
    if backend == "tensorflow":
        return "compiled-tensorflow"
    return "compiled-guessed" if gpu is not None and gpu.is_from_datasheet else "compiled"


def loop_allocations(answer: Mapping[str, Any], temp: int, results: int, donated: bool) -> LoopAllocations:
    weights = answer["weights"]
    optimizer_state = [
        weights,
        *([weights] * (answer["moments"] // weights)),
        *([weights] if answer["average"] else []),
    ]
    return LoopAllocations(
        model=answer["variables"], masks=[answer["masks"] // 2] * 2, optimizer_state=optimizer_state,
        fixed=[answer["fixed"]] if answer["fixed"] else [], results=[results], batch=[answer["batch"]],
        temporaries=temp, donated=donated,
    )  # fmt: skip


def _state_items(answer: Mapping[str, Any], donated: bool, results: int) -> list[MemoryItem]:
    """What is alive during the step. Without donation there are three states: before, now and next."""
    copies = 1 if donated else 3
    times = "" if donated else ", three times: the state before, now and next"
    items = [
        MemoryItem(f"weights{times}", answer["weights"] * copies, "counted"),
        MemoryItem(f"optimizer moments{times}", answer["moments"] * copies, "counted"),
        MemoryItem(f"EMA of the weights{times}", answer["average"] * copies, "counted"),
        MemoryItem(f"statistics{times}", answer["fixed"] * copies, "counted"),
        MemoryItem("the Keras model's own copy of its weights", answer["model"], "counted"),
        MemoryItem("masks of the update", answer["masks"], "counted"),
        MemoryItem("batch", answer["batch"], "counted"),
        MemoryItem("results of this step and the one before", 2 * results, "counted"),
    ]
    return [item for item in items if item.bytes]


def _temporary_items(answer: Mapping[str, Any], temp: int, compiled: bool) -> list[MemoryItem]:
    """The compiler gives one number; its distribution over the network is estimated by the liveness analysis."""
    basis: ValueBasis = "counted" if compiled else "estimated"
    analysis = answer.get("liveness") or {}
    at = dict(analysis.get("at") or {})
    gradient = min(answer["weights"], temp)
    rest = temp - gradient
    at_sum = sum(at.values()) or 1
    items = [MemoryItem("gradients", gradient, basis)]
    shares = [(where, int(rest * size / at_sum)) for where, size in at.items()]
    large = [(where, size) for where, size in shares if size >= rest * 0.03][:12]
    items += [MemoryItem(f"kept for the backward pass, {where}", size, "estimated") for where, size in large]
    remaining = rest - sum(size for _, size in large)
    if remaining > 0:
        items.append(
            MemoryItem(
                "other activations, temporaries and workspace"
                if large
                else "activations, temporaries and workspace",
                remaining,
                "estimated" if large else basis,
            )
        )
    return items
