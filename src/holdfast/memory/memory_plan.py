"""What to change so that a step fits, in the order of least harm. Pure: what prices a setup is handed in."""

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


Rung = tuple[StepConfig, tuple[SettingChange, ...]]


@dataclass(frozen=True, slots=True)
class PlanOption:
    """A setup, the changes that lead to it, and its memory."""

    setup: StepConfig
    changes: tuple[SettingChange, ...]
    account: MemoryBreakdown
    answer: FitAnswer


@dataclass(frozen=True, slots=True)
class MemoryPlan:
    """`chosen` is None when nothing fits; `tried` holds every option that was priced, in order."""

    chosen: PlanOption | None
    tried: tuple[PlanOption, ...]
    asked: PlanOption  # the recipe as it stands


def make_plan(
    wanted: StepConfig, memory_bytes: int, price: EstimateSetup, *, half: str = "bfloat16"
) -> MemoryPlan:
    """The recipe as it stands, else the largest micro-batch, else the least harmful change that makes one fit."""
    tried: list[PlanOption] = []
    for setup, changes in reductions(wanted, half=half):
        found = largest_micro_batch(setup.batch, memory_bytes, partial(price, setup))
        option = _option(setup, changes, found, memory_bytes)
        tried.append(option)
        if found.micro_batch is not None:
            return MemoryPlan(option, tuple(tried), tried[0])
        if found.account.method.never_yes and option.answer != "does-not-fit":
            break  # a lower bound cannot say yes, and changing the recipe on its word would be a guess
    return MemoryPlan(None, tuple(tried), tried[0])


def _option(
    setup: StepConfig, changes: tuple[SettingChange, ...], found: SearchResult, memory_bytes: int
) -> PlanOption:
    micro = found.micro_batch or 1
    if micro != setup.batch:
        cost = "the same result, to float rounding; somewhat slower, as smaller kernels fill a GPU less"
        changes = (*changes, SettingChange("train.micro_batch", str(micro), cost))
    answer = "fits" if found.micro_batch is not None else found.account.judge(memory_bytes)
    return PlanOption(replace(setup, micro_batch=micro), changes, found.account, answer)


def reductions(wanted: StepConfig, *, half: str) -> list[Rung]:
    """Setups to try in order, each with all changes up to it; a later value of a setting replaces the earlier."""
    rungs: list[Rung] = [(wanted, ())]

    def add(change: SettingChange, **changed: Any) -> None:
        setup, before = rungs[-1]
        kept = (one for one in before if one.setting != change.setting)
        rungs.append((replace(setup, **changed), (*kept, change)))

    if wanted.precision == "float32":
        cost = "results differ in about the third digit; faster on GPUs with tensor cores"
        add(SettingChange("train.precision", f'"{half}"', cost), precision=half)
    if not wanted.rematerialise:
        cost = "the same gradient; a step takes about a third longer, as the forward pass is computed twice"
        add(SettingChange("train.rematerialise", "true", cost), rematerialise=True)
    for smaller in _smaller_inputs(wanted):
        add(
            SettingChange("model.input", str(smaller), "small objects are harder to find; faster"),
            input=smaller,
        )
    if wanted.backbone != LIGHTER_BACKBONE:
        add(
            SettingChange("model.backbone", f'"{LIGHTER_BACKBONE}"', "less accurate; much faster"),
            backbone=LIGHTER_BACKBONE,
        )
    return rungs


def _smaller_inputs(wanted: StepConfig) -> list[int]:
    least = SMALLEST_INPUT[wanted.detector]
    sizes = [int(wanted.input * factor) // 32 * 32 for factor in SMALLER_INPUTS]
    return [size for size in dict.fromkeys(sizes) if size >= least]
