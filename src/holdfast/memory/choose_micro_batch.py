"""What training asks of the plan: a micro-batch that fits this machine's card, and the prediction to be held to."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass, replace
from typing import Any

from holdfast.errors import HoldfastError
from holdfast.memory import corrections, gpu_catalogue
from holdfast.memory.breakdown import MemoryBreakdown
from holdfast.memory.byte_sizes import shown
from holdfast.memory.data_facts import DataFacts, step_config_of
from holdfast.memory.estimate.estimators import GpuEstimator
from holdfast.memory.estimate.prediction_cache import PredictionCache
from holdfast.memory.measured_peak import DeviceLimit
from holdfast.memory.micro_batch_search import largest_micro_batch
from holdfast.memory.step_config import StepConfig
from holdfast.settings.recipe import Recipe


@dataclass(frozen=True, slots=True)
class MicroBatchPlan:
    """`micro_batch` is None where nothing was planned: without a card, or where no prediction could be made."""

    setup: StepConfig
    micro_batch: int | None = None
    predicted_bytes: int | None = None  # the allocator's peak
    method: str = ""
    card: str = ""
    said: str = ""


def plan_for_training(
    recipe: Recipe,
    *,
    classes: int,
    boxes: int,
    room: DeviceLimit | None,
    sent_pixels: int = 0,
    price: Any = None,
) -> MicroBatchPlan:
    """The largest micro-batch for `train.micro_batch = "auto"`; the prediction alone where it is a number."""
    data = DataFacts(classes, boxes, 0, 0, 0, 0, "none", "", sent_pixels)
    setup = step_config_of(recipe, data)
    if room is None:
        return MicroBatchPlan(setup)
    card = (
        gpu_catalogue.gpu_of_driver_name(room.name) or gpu_catalogue.gpu_of_size(room.limit_bytes)
    ).with_memory(room.limit_bytes)
    price = price or GpuEstimator(
        card, PredictionCache(), correction_bytes=corrections.correction_for_gpu(card.name)
    )
    try:
        if recipe.train.micro_batch == "auto":
            return _search_micro_batch(setup, room, card.name, price)
        made = price(setup, [setup.micro_batch])[0]
        return MicroBatchPlan(
            setup, None, made.step_peak_bytes, made.method.name, card.name, _plan_text(setup, made, room)
        )
    except (HoldfastError, OSError, subprocess.TimeoutExpired) as error:
        return MicroBatchPlan(setup, said=f"the memory of a step was not predicted: {error}")


def _search_micro_batch(setup: StepConfig, room: DeviceLimit, card: str, price: Any) -> MicroBatchPlan:
    """The room is the allocator's own, so what lies outside its pool is not counted again."""
    found = largest_micro_batch(
        setup.batch, room.limit_bytes, lambda sizes: [_within_pool(one) for one in price(setup, sizes)]
    )
    micro = (
        found.micro_batch or 1
    )  # too close to call at one picture: it is tried, and relief says what happened
    chosen = replace(setup, micro_batch=micro)
    account = found.account
    return MicroBatchPlan(
        chosen, micro, account.step_peak_bytes, account.method.name, card, _plan_text(chosen, account, room)
    )


def _within_pool(account: MemoryBreakdown) -> MemoryBreakdown:
    return replace(account, outside_bytes=0)


def _plan_text(setup: StepConfig, account: MemoryBreakdown, room: DeviceLimit) -> str:
    return (
        f"micro-batches of {setup.micro_batch} will take {shown(account.step_peak_bytes)} of {shown(room.limit_bytes)} "
        f"on the {room.name}, by {account.method.name}"
    )
