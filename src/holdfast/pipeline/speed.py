"""How many images a second the pipeline gives here, and whether training would wait for it.

`measure` runs the real stream for a few seconds; `judge` is pure; `check` is what `holdfast check RECIPE` calls.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from math import ceil
from typing import Any

import numpy as np

from holdfast.data.findings import DataFinding, FindingPlace
from holdfast.pipeline import cache_budget, dataset_columns
from holdfast.pipeline.dataset_columns import Columns
from holdfast.pipeline.feed import Feed
from holdfast.pipeline.image_sizes import packed_sizes
from holdfast.pipeline.pack import PackIndex

REQUIRED_MARGIN = 1.2  # a pipeline below this times the step's speed will make some steps wait: speeds vary
READING_BOUND = 1.5  # reading alone at less than this times the whole pipeline's speed is what holds it up


@dataclass(frozen=True, slots=True)
class PipelineSpeed:
    """Images a second on this machine, now. `reading` is the bytes alone, without decoding."""

    whole: float
    reading: float
    cores: int
    images: int  # how many were timed


@dataclass(frozen=True, slots=True)
class SpeedOptions:
    """What could be done about a slow pipeline with this dataset on this machine."""

    packing_saves: float  # the share of pixels that a packed copy spares
    decoded_fits: bool  # all decoded images fit in memory
    remote: bool


def measure(
    data: Columns,
    feed: Feed,
    *,
    packed: PackIndex | None = None,
    seconds: float = 3.0,
    clock: Callable[[], float] = time.perf_counter,
) -> PipelineSpeed:
    """Times the stream after its first batch, and reading alone on images that it has not touched."""
    from holdfast.pipeline.stream import Stream

    stream = Stream(data, feed, skip_bad=len(data), packed=packed)
    whole, images = _rate(stream.batches(), feed.batch, seconds, clock)
    last_epoch_end = np.arange(len(data) - 1, -1, -1)
    reading, _ = _rate(stream.encoded_bytes(last_epoch_end), 1, seconds / 3, clock)
    return PipelineSpeed(whole, reading, stream.threads, images)


def _rate(batches: Any, size: int, seconds: float, clock: Callable[[], float]) -> tuple[float, int]:
    iterator = iter(batches)
    next(iterator)
    started, count = clock(), 0
    for _ in iterator:
        count += size
        if clock() - started >= seconds:
            break
    return (count / max(clock() - started, 1e-9), count) if count else (float("inf"), 0)


def judge(
    measured: PipelineSpeed, means: SpeedOptions, *, batch: int, step_images_per_s: float | None
) -> tuple[DataFinding, ...]:
    """Will training wait for its data, and what would help, the most effective first."""
    given = f"the pipeline gives {measured.whole:.0f} images/s on {measured.cores} cores"
    extra: tuple[tuple[str, Any], ...] = (("images_per_s", round(measured.whole, 1)),)
    if step_images_per_s is None:
        limit_ms = 1000.0 * batch / measured.whole
        return (_finding("pipeline-speed", "note", f"{given}: a step of {batch} that takes less than {limit_ms:.0f} ms "
                         "would wait for data", "nothing, unless the steps are faster than that", extra),)  # fmt: skip
    extra += (("step_images_per_s", round(step_images_per_s, 1)),)
    wanted = f"{given} and a step takes {step_images_per_s:.0f} images/s"
    if measured.whole >= REQUIRED_MARGIN * step_images_per_s:
        return (_finding("pipeline-speed", "note", wanted, "nothing: the data keeps up", extra),)
    waits = max(0.0, 1.0 - measured.whole / step_images_per_s)
    says = (
        f"{wanted}: {waits:.0%} of {'the first epoch' if means.decoded_fits else 'the time'} would be waiting"
        if waits
        else f"{wanted}: too close to be sure"
    )
    remedy = "; or ".join(remedies(measured, means, step_images_per_s))
    return (_finding("input-starved", "warning", says, remedy, extra),)


def remedies(measured: PipelineSpeed, means: SpeedOptions, step_images_per_s: float) -> list[str]:
    found = []
    if means.decoded_fits:
        found.append(
            "nothing, if the run has several epochs: decoded images fit in memory and are kept from epoch 2 on"
        )
    if measured.reading < READING_BOUND * measured.whole:
        found.append("copy the data to a local disk: reading alone is what holds it up"
                     if means.remote else "use a faster disk: reading alone is what holds it up")  # fmt: skip
    if means.packing_saves >= 0.5:
        found.append(
            f"`holdfast data pack RECIPE`: small copies spare {means.packing_saves:.0%} of the pixels"
        )
    cores = ceil(measured.cores * REQUIRED_MARGIN * step_images_per_s / measured.whole)
    found.append(f"give the run {cores} cores instead of {measured.cores}")
    return found


def speed_options_for(data: Columns, feed: Feed) -> SpeedOptions:
    decision = cache_budget.decide_for(data, feed)
    pixels = float(data.sizes.astype(np.int64).prod(axis=1).sum())
    saves = 1.0 - float(packed_sizes(data, feed).prod(axis=1).sum()) / max(1.0, pixels)
    return SpeedOptions(saves, decision.kind == "decoded", dataset_columns.is_remote(data))


def check(
    data: Columns,
    feed: Feed,
    *,
    packed: PackIndex | None = None,
    where: str = "",
    step_images_per_s: float | None = None,
    seconds: float = 3.0,
) -> list[DataFinding]:
    """The findings about the speed of the data for what a recipe makes of it."""
    measured = measure(data, feed, packed=packed, seconds=seconds)
    means = speed_options_for(data, feed)
    means = replace(means, packing_saves=0.0) if packed else means
    found = judge(measured, means, batch=feed.batch, step_images_per_s=step_images_per_s)
    return [
        replace(finding, places=tuple(FindingPlace(where, place.detail) for place in finding.places))
        for finding in found
    ]


def _finding(
    slug: str, severity: str, says: str, remedy: str, extra: tuple[tuple[str, Any], ...]
) -> DataFinding:
    return DataFinding(slug, severity, 1, (FindingPlace("", says),), remedy, extra)
