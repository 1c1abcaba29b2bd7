"""What to change so that a step fits, in the order of least harm. Pure: the estimator is an argument."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from holdfast.memory.breakdown import FitAnswer, MemoryBreakdown
from holdfast.memory.micro_batch_search import SearchResult, largest_micro_batch
from holdfast.memory.step_config import StepConfig

EstimateSetup = Callable[[StepConfig, list[int]], list[MemoryBreakdown]]
SMALLER_INPUTS = (0.8, 0.64, 0.5)
SMALLEST_INPUT = {"ssd": 300, "retinanet": 256, "faster-rcnn": 256}
LIGHTER_BACKBONE = "mobilenet_v2"


@dataclass(frozen=True, slots=True)
class SettingChange:
    """One setting that is changed to need less memory, and what that costs."""

    setting: str
    value: str  # as TOML
    cost: str

    def __str__(self) -> str:
        return f"{self.setting} = {self.value}"


Reduction = tuple[StepConfig, tuple[SettingChange, ...]]


@dataclass(frozen=True, slots=True)
class PlanOption:
    """A configuration, the changes that lead to it, and its memory."""

    config: StepConfig
    changes: tuple[SettingChange, ...]
    breakdown: MemoryBreakdown
    fit_answer: FitAnswer


@dataclass(frozen=True, slots=True)
class MemoryPlan:
    """`chosen` is None when nothing fits; `options` are all that were estimated, in order."""

    chosen: PlanOption | None
    options: tuple[PlanOption, ...]
    as_configured: PlanOption  # the recipe without changes


def make_plan(
    config: StepConfig, memory_bytes: int, estimate: EstimateSetup, *, half_precision: str = "bfloat16"
) -> MemoryPlan:
    """The recipe unchanged, else the largest micro-batch, else the least harmful change that makes one fit."""
    options: list[PlanOption] = []
    for reduced, changes in reductions(config, half_precision=half_precision):
        result = largest_micro_batch(reduced.batch, memory_bytes, partial(estimate, reduced))
        option = _option(reduced, changes, result, memory_bytes)
        options.append(option)
        if result.micro_batch is not None:
            return MemoryPlan(option, tuple(options), options[0])
        if result.breakdown.method.is_lower_bound and option.fit_answer != "does-not-fit":
            break  # a lower bound never proves that something fits: no reason to change the recipe
    return MemoryPlan(None, tuple(options), options[0])


def _option(
    config: StepConfig, changes: tuple[SettingChange, ...], result: SearchResult, memory_bytes: int
) -> PlanOption:
    micro = result.micro_batch or 1
    if micro != config.batch:
        cost = "the same result, to float rounding; somewhat slower, as smaller kernels fill a GPU less"
        changes = (*changes, SettingChange("train.micro_batch", str(micro), cost))
    answer = "fits" if result.micro_batch is not None else result.breakdown.fits(memory_bytes)
    return PlanOption(replace(config, micro_batch=micro), changes, result.breakdown, answer)


def reductions(config: StepConfig, *, half_precision: str) -> list[Reduction]:
    """Configurations to try in order, with all changes so far; a later change of a setting replaces the earlier."""
    reduced: list[Reduction] = [(config, ())]

    def add(change: SettingChange, **changed: Any) -> None:
        last, before = reduced[-1]
        others = (other for other in before if other.setting != change.setting)
        reduced.append((replace(last, **changed), (*others, change)))

    if config.precision == "float32":
        cost = "results differ in about the third digit; faster on GPUs with tensor cores"
        add(SettingChange("train.precision", f'"{half_precision}"', cost), precision=half_precision)
    if not config.rematerialise:
        cost = "the same gradient; a step takes about a third longer, as the forward pass is computed twice"
        add(SettingChange("train.rematerialise", "true", cost), rematerialise=True)
    for smaller in _smaller_inputs(config):
        add(
            SettingChange("model.input", str(smaller), "small objects are harder to find; faster"),
            input=smaller,
        )
    if config.backbone != LIGHTER_BACKBONE:
        add(
            SettingChange("model.backbone", f'"{LIGHTER_BACKBONE}"', "less accurate; much faster"),
            backbone=LIGHTER_BACKBONE,
        )
    return reduced


def _smaller_inputs(config: StepConfig) -> list[int]:
    least = SMALLEST_INPUT[config.detector]
    sizes = [int(config.input * factor) // 32 * 32 for factor in SMALLER_INPUTS]
    return [size for size in dict.fromkeys(sizes) if size >= least]
