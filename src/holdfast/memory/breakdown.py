"""From counted, compiled or estimated bytes to lines, a sum, a band around it, and a verdict. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

from holdfast.memory.estimate.bfc_allocator import LoopAllocations, simulate
from holdfast.memory.gpu_catalogue import GpuSpec

ValueBasis = Literal["counted", "estimated", "measured"]
FitAnswer = Literal["fits", "does-not-fit", "too-close"]
MIB = 2**20

#: Beside the allocator's pool: the CUDA context and loaded kernels, 556 to 598 MiB on an H200.
CONTEXT_BYTES = 600 * MIB
#: Numbers of the loss, seeds, counters, and holes between them: up to 5 MB on an H200.
SMALL_BYTES = 4 * MIB


@dataclass(frozen=True, slots=True)
class MemoryItem:
    what: str
    bytes: int
    known: ValueBasis

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True, slots=True)
class EstimateMethod:
    """How far off a method has been: the truth lay between `low` and `high` times what it said, plus `more_bytes`."""

    name: str
    low: float
    high: float
    more_bytes: int
    seen: str

    @property
    def never_yes(self) -> bool:
        return self.high == float("inf")


METHODS = {
    "compiled": EstimateMethod(
        "compiled for the card ahead of time", 0.97, 1.015, 128 * MIB,
        "25 setups on an H200: median error 0.1 %, from 0.8 % under to 0.8 % over",
    ),
    "compiled-guessed": EstimateMethod(
        "compiled ahead of time for a card described from its datasheet", 0.90, 1.08, 128 * MIB,
        "no such card was measured; the same steps compiled for other cards differed by -3 to +1 % in float32 "
        "and by 6 to 14 % in float16",
    ),
    "compiled-tensorflow": EstimateMethod(
        "the same step compiled ahead of time through JAX", 0.80, 1.20, 128 * MIB,
        "TensorFlow's own step on a card was not measured against it",
    ),
    "liveness": EstimateMethod(
        "liveness of the traced step", 0.80, 1.36, 128 * MIB,
        "against the compiler's own count of 9 setups: from 24 % under to 16 % over, a median of 14 %",
    ),
    "line": EstimateMethod(
        "a line through small trials on this machine", 0.85, 1.10, 64 * MIB,
        "four models in capped control groups: from 5 % over to 16 % under, so what fits by it is run itself",
    ),
    "run": EstimateMethod(
        "some steps of it were run on this machine", 0.93, 1.05, 64 * MIB,
        "equal runs were up to 1 % apart for a Faster R-CNN, and 6 % for an SSD, so it is run twice",
    ),
    "counted": EstimateMethod("a plain count", 1.0, float("inf"), 0, "a lower bound: it leaves out all activations"),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class MemoryBreakdown:
    """`step_peak_bytes` is what the allocator's peak will read; the total has the context beside it."""

    lines: tuple[MemoryItem, ...]
    method: EstimateMethod
    step_peak_bytes: int
    outside_bytes: int  # not in the allocator's pool
    validation_bytes: int = 0  # of a validation between steps, estimated; 0 when not known
    state_bytes: int = 0  # weights, moments, EMA and statistics, once: what a checkpoint copies to the host

    @property
    def total_bytes(self) -> int:
        return self.step_peak_bytes + self.outside_bytes

    @property
    def upper_step_bytes(self) -> int:
        """The most that the step will take, as far as the method can be trusted."""
        if self.method.never_yes:
            return 1 << 62
        return int(self.step_peak_bytes * self.method.high) + self.method.more_bytes

    @property
    def lower_step_bytes(self) -> int:
        return int(self.step_peak_bytes * self.method.low)

    def judge(self, memory_bytes: int) -> FitAnswer:
        if self.upper_step_bytes + self.outside_bytes <= memory_bytes:
            return "fits"
        return "does-not-fit" if self.lower_step_bytes + self.outside_bytes > memory_bytes else "too-close"


def device_breakdown(
    answer: Mapping[str, Any],
    card: GpuSpec | None = None,
    *,
    method: str,
    correction_bytes: int = 0,
    backend: str = "jax",
) -> MemoryBreakdown:
    """The lines of a step on a card, from a worker's answer. `method` is compiled or liveness."""
    compiled = answer.get("compiled")
    state = answer["state"]
    if method == "liveness" or compiled is None:
        temp, donated = int(answer["liveness"]["temp_bytes"]), False
        results = answer[
            "weights"
        ]  # the squares of the gradient, handed out for the case that something is wrong
        known = METHODS["liveness"]
    else:
        temp, donated = int(compiled["temp_bytes"]), compiled["alias_bytes"] > state // 2
        results = max(0, compiled["output_bytes"] - state)
        known = METHODS[_compiler_note(card, backend)]
    lines = [*_state_items(answer, donated, results), *_temporary_items(answer, temp, compiled is not None)]
    asked_for = sum(line.bytes for line in lines)
    taken = simulate(traffic_of(answer, temp, results, donated)) or asked_for
    if taken > asked_for:
        lines.append(
            MemoryItem(
                "pieces larger than asked for, by the allocator's rule", taken - asked_for, "estimated"
            )
        )
    lines.append(MemoryItem("small arrays alive before the step", SMALL_BYTES, "estimated"))
    if correction_bytes:
        lines.append(
            MemoryItem("what earlier runs here took beyond their prediction", correction_bytes, "measured")
        )
    step = sum(line.bytes for line in lines)
    lines.append(MemoryItem("framework and CUDA context, outside the pool", CONTEXT_BYTES, "estimated"))
    once = answer["weights"] + answer["moments"] + answer["average"] + answer["fixed"]
    return MemoryBreakdown(
        tuple(lines), known, step, CONTEXT_BYTES, _validation_bytes(answer), state_bytes=once
    )


def _validation_bytes(answer: Mapping[str, Any]) -> int:
    """Between steps one state is alive, with the model's weights, the masks and a batch of pictures."""
    temp = int(answer.get("validation_temp") or 0)
    return temp and temp + answer["state"] + answer["model"] + answer["masks"] + answer["batch"]


def _compiler_note(card: GpuSpec | None, backend: str) -> str:
    if backend == "tensorflow":
        return "compiled-tensorflow"
    return "compiled-guessed" if card is not None and card.guessed else "compiled"


def traffic_of(answer: Mapping[str, Any], temp: int, results: int, donated: bool) -> LoopAllocations:
    weights = answer["weights"]
    moving = [
        weights,
        *([weights] * (answer["moments"] // weights)),
        *([weights] if answer["average"] else []),
    ]
    return LoopAllocations(
        model=answer["variables"], masks=[answer["masks"] // 2] * 2, moving=moving,
        fixed=[answer["fixed"]] if answer["fixed"] else [], results=[results], batch=[answer["batch"]],
        temp=temp, donated=donated,
    )  # fmt: skip


def _state_items(answer: Mapping[str, Any], donated: bool, results: int) -> list[MemoryItem]:
    """What lives through the step. Without donation three states are alive: before, now and next."""
    copies = 1 if donated else 3
    times = "" if donated else ", three times: the state before, now and next"
    masks = MemoryItem("masks of the update", answer["masks"], "counted")
    lines = [
        MemoryItem(f"weights{times}", answer["weights"] * copies, "counted"),
        MemoryItem(f"optimizer moments{times}", answer["moments"] * copies, "counted"),
        MemoryItem(f"EMA of the weights{times}", answer["average"] * copies, "counted"),
        MemoryItem(f"statistics{times}", answer["fixed"] * copies, "counted"),
        MemoryItem("the Keras model's own copy of its weights", answer["model"], "counted"),
        masks,
        MemoryItem("batch", answer["batch"], "counted"),
        MemoryItem("results of this step and the one before", 2 * results, "counted"),
    ]
    return [line for line in lines if line.bytes]


def _temporary_items(answer: Mapping[str, Any], temp: int, compiled: bool) -> list[MemoryItem]:
    """The compiler gives one number; where in the network it is spent is the liveness analysis's estimate."""
    known: ValueBasis = "counted" if compiled else "estimated"
    walk = answer.get("liveness") or {}
    at = dict(walk.get("at") or {})
    gradient = min(answer["weights"], temp)
    rest = temp - gradient
    at_sum = sum(at.values()) or 1
    lines = [MemoryItem("gradients", gradient, known)]
    shares = [(where, int(rest * size / at_sum)) for where, size in at.items()]
    large = [(where, size) for where, size in shares if size >= rest * 0.03][:12]
    lines += [MemoryItem(f"kept for the backward pass, {where}", size, "estimated") for where, size in large]
    left = rest - sum(size for _, size in large)
    if left > 0:
        lines.append(
            MemoryItem(
                "other activations, temporaries and workspace"
                if large
                else "activations, temporaries and workspace",
                left,
                "estimated" if large else known,
            )
        )
    return lines
