"""For training: a micro-batch that fits this machine's GPU, and the prediction to compare with."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from dataclasses import dataclass, replace

from holdfast.detectors.spec import DetectorSpec
from holdfast.errors import HoldfastError
from holdfast.memory import corrections, gpu_catalogue
from holdfast.memory.breakdown import MemoryBreakdown
from holdfast.memory.data_facts import DataFacts, step_config_of
from holdfast.memory.estimate.estimators import GpuEstimator
from holdfast.memory.estimate.prediction_cache import PredictionCache
from holdfast.memory.measured_peak import DeviceLimit
from holdfast.memory.memory_plan import EstimateSetup
from holdfast.memory.micro_batch_search import largest_micro_batch
from holdfast.memory.step_config import StepConfig
from holdfast.settings.recipe import Recipe
from holdfast.units import exact_size


@dataclass(frozen=True, slots=True)
class MicroBatchPlan:
    """`micro_batch` is None when nothing was planned: without a GPU, or when no prediction could be made."""

    config: StepConfig
    micro_batch: int | None = None
    predicted_bytes: int | None = None  # the allocator's peak
    method: str = ""
    gpu: str = ""
    message: str = ""


def plan_for_training(
    recipe: Recipe,
    *,
    classes: int,
    max_boxes: int,
    limit: DeviceLimit | None,
    sent_pixels: int = 0,
    estimate: EstimateSetup | None = None,
    spec: DetectorSpec | None = None,
    on_certain: Callable[[int], None] = lambda micro_batch: None,
) -> MicroBatchPlan:
    """The largest micro-batch for `train.micro_batch = "auto"`; the prediction alone where it is a number.

    `spec` is that of the network, where it was built already. `on_certain` is called with the full batch as soon as
    it surely fits, which is long before the prediction is exact.
    """
    data = DataFacts(classes, max_boxes, 0, 0, 0, 0, "none", "", sent_pixels)
    config = step_config_of(recipe, data)
    if spec is not None:
        config = replace(config, variant=spec.variant, normalization=spec.normalization)
    if limit is None:
        return MicroBatchPlan(config)
    described = gpu_catalogue.gpu_of_driver_name(limit.name) or gpu_catalogue.gpu_of_size(limit.limit_bytes)
    gpu = described.with_memory(limit.limit_bytes)

    def by_liveness(breakdown: MemoryBreakdown) -> None:
        if _within_pool(breakdown).fits(limit.limit_bytes) == "fits":
            on_certain(config.batch)

    estimate = estimate or GpuEstimator(
        gpu,
        PredictionCache(),
        correction_bytes=corrections.correction_for_gpu(gpu.name),
        on_liveness=lambda sizes, breakdown: by_liveness(breakdown) if sizes == (config.batch,) * 2 else None,
    )
    try:
        if recipe.train.micro_batch == "auto":
            return _search_micro_batch(config, limit, gpu.name, estimate)
        breakdown = estimate(config, [config.micro_batch])[0]
        return MicroBatchPlan(
            config,
            None,
            breakdown.step_peak_bytes,
            breakdown.method.name,
            gpu.name,
            _message(config, breakdown, limit),
        )
    except (HoldfastError, OSError, subprocess.TimeoutExpired) as error:
        return MicroBatchPlan(config, message=f"the memory of a step could not be predicted: {error}")


def _search_micro_batch(
    config: StepConfig, limit: DeviceLimit, gpu: str, estimate: EstimateSetup
) -> MicroBatchPlan:
    """The limit is the allocator's own, so what is outside its pool does not count."""
    result = largest_micro_batch(
        config.batch,
        limit.limit_bytes,
        lambda sizes: [_within_pool(option) for option in estimate(config, sizes)],
    )
    micro = result.micro_batch or 1  # when even one image is too close to call, training tries it
    chosen = replace(config, micro_batch=micro)
    breakdown = result.breakdown
    return MicroBatchPlan(
        chosen,
        micro,
        breakdown.step_peak_bytes,
        breakdown.method.name,
        gpu,
        _message(chosen, breakdown, limit),
    )


def _within_pool(breakdown: MemoryBreakdown) -> MemoryBreakdown:
    return replace(breakdown, outside_pool_bytes=0)


def _message(config: StepConfig, breakdown: MemoryBreakdown, limit: DeviceLimit) -> str:
    peak, available = exact_size(breakdown.step_peak_bytes), exact_size(limit.limit_bytes)
    needed = f"micro-batches of {config.micro_batch} will take {peak} of {available} on the {limit.name}"
    return f"{needed} (method: {breakdown.method.name})"
