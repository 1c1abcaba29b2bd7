"""The charts of a run on one time axis, from its journal and its samples. Numbers alone, no drawing."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import pairwise
from statistics import median

from holdfast.journal import events
from holdfast.journal.reader import Entry
from holdfast.journal.vitals import Sample
from holdfast.report.series import Chart, Point, Series, paces, rates, thin, thin_together


def build_charts(
    entries: list[Entry], samples: list[Sample], newest: list[Point], zero: float
) -> list[Chart]:
    """`newest` are the losses of the last beats; `zero` is the moment that the time axis begins at."""
    charts = [
        _loss(entries, samples, newest, zero),
        _validation(entries, zero),
        Chart("Learning rate", "1", _drawn([("learning rate", _learning_rates(entries, zero))])),
        _step_time(samples, zero),
        _throughput(entries, samples, zero),
        _memory(samples, zero),
        _gpu(entries, samples, zero),
        _gpu_work(samples, zero),
        Chart(
            "Processor", "cores", _drawn([("busy cores", rates((s.mono - zero, s.cpu_s) for s in samples))])
        ),
    ]
    begun = [entry.mono - zero for entry in entries if isinstance(entry.event, events.AttemptStarted)][1:]
    return [
        replace(chart, series=[replace(one, points=with_gaps(one.points, begun)) for one in chart.series])
        for chart in charts
        if chart.series
    ]


def with_gaps(points: list[Point], at: Sequence[float]) -> list[Point]:
    """With a gap at each of these moments: no line leads from one attempt to the next."""
    inside = [(moment, math.nan) for moment in at if points and points[0][0] < moment < points[-1][0]]
    return sorted([*points, *inside], key=lambda point: point[0])


def _drawn(
    named: Iterable[tuple[str, list[Point]]], *, dashed: tuple[str, ...] = (), shown: tuple[str, ...] = ()
) -> list[Series]:
    """`shown`: only these to begin with, where there is any of them."""
    there = [(name, sorted(points)) for name, points in named if points]
    few = {name for name, _ in there} & set(shown)
    series = [
        Series(name, thin(points), name in dashed, bool(few) and name not in few) for name, points in there
    ]
    return sorted(series, key=lambda one: one.hidden)  # what is seen has the first colours


def _loss(entries: list[Entry], samples: list[Sample], newest: list[Point], zero: float) -> Chart:
    parts: dict[str, list[Point]] = {"loss": [(s.mono - zero, s.loss) for s in samples if s.loss is not None]}
    parts["loss"] += newest
    parts["loss as printed"] = [
        (s.mono - zero, s.printed["loss"]) for s in samples if isinstance(s.printed.get("loss"), int | float)
    ]
    for entry in entries:
        if isinstance(entry.event, events.LossSeen):
            for name, value in entry.event.logs.items():
                if isinstance(value, int | float):
                    parts.setdefault(name, []).append((entry.mono - zero, float(value)))
    return Chart("Loss and its parts", "1", _drawn(parts.items()), log=True)


def _validation(entries: list[Entry], zero: float) -> Chart:
    parts: dict[str, list[Point]] = {}
    for entry in entries:
        if isinstance(entry.event, events.ValidationDone):
            for name, value in entry.event.logs.items():
                nothing = value == -1 and name[:2] in ("AP", "AR")  # COCO's word for "there is none of that"
                if isinstance(value, int | float) and not nothing:
                    parts.setdefault(name, []).append((entry.mono - zero, float(value)))
    return Chart("Validation", "1", _drawn(parts.items(), shown=("AP", "AP50", "AP75", "AR100")))


def _learning_rates(entries: list[Entry], zero: float) -> list[Point]:
    return [
        (entry.mono - zero, entry.event.learning_rate)
        for entry in entries
        if isinstance(entry.event, events.LossSeen | events.EpochDone)
        and isinstance(entry.event.learning_rate, float)
    ]


def _step_time(samples: list[Sample], zero: float) -> Chart:
    """Waiting, computing and the rest are means between two samples; `other` is what the clock says beyond them."""
    moments = [_shares(before, after, zero) for before, after in pairwise(samples)]
    known = [moment for moment in moments if moment is not None]
    usual_s = median(sum(parts) for _, _, parts in known) if known else 0.0
    drawn = [one for one in known if not (one[1] and sum(one[2]) > 5 * usual_s)]
    if any(parts[0] for _, _, parts in drawn):
        names = ("waiting for data", "computing", "other")
        columns = [[(at, parts[n]) for at, _, parts in drawn] for n in range(len(names))]
        series = [Series(name, points) for name, points in zip(names, thin_together(columns), strict=True)]
        slow = ", ".join(
            f"{sum(parts):.1f} s" for _, first, parts in known if first and sum(parts) > 5 * usual_s
        )
        note = f"Not drawn: the first steps of an attempt, which compile ({slow})." if slow else ""
        return Chart("Time of a step", "s", series, stacked=True, note=note)
    whole = [(s.mono - zero, s.step_s) for s in samples if s.step_s is not None]
    note = "Waiting for data and computing were not measured apart in this run." if whole else ""
    return Chart("Time of a step", "s", _drawn([("whole step", whole)]), note=note)


def _shares(
    before: Sample, after: Sample, zero: float
) -> tuple[float, bool, tuple[float, float, float]] | None:
    """When, whether it holds an attempt's first step, and a step's seconds of waiting, computing and other."""
    steps = after.step - before.step
    wait_s, compute_s = after.data_wait_s - before.data_wait_s, after.compute_s - before.compute_s
    if steps <= 0 or wait_s + compute_s <= 0 or before.attempt != after.attempt:
        return None
    other_s = max(0.0, after.mono - before.mono - wait_s - compute_s)
    first = before.compute_s == 0
    return after.mono - zero, first, (wait_s / steps, compute_s / steps, other_s / steps)


def _throughput(entries: list[Entry], samples: list[Sample], zero: float) -> Chart:
    found = (entry.event.batch_size for entry in entries if isinstance(entry.event, events.FitStarted))
    batch = next((size for size in found if size), None)
    pace = [
        point
        for attempt in sorted({s.attempt for s in samples})
        for point in paces(_counted(samples, attempt, zero))
    ]
    if batch is None:
        return Chart("Throughput", "steps/s", _drawn([("steps", pace)]))
    return Chart(
        "Throughput", "images/s", _drawn([("images", [(at, rate * batch) for at, rate in pace])]),
        note=f"{batch} a step",
    )  # fmt: skip


def _counted(samples: list[Sample], attempt: int, zero: float) -> list[Point]:
    """Steps of one attempt over time. One that resumes jumps from 0 to where it was, which is no pace."""
    return [
        (s.mono - zero, float(s.step))
        for s in samples
        if s.attempt == attempt and (attempt == 1 or s.step > 0)
    ]


def _memory(samples: list[Sample], zero: float) -> Chart:
    def line(name: str) -> list[Point]:
        return [(s.mono - zero, float(v)) for s in samples if (v := getattr(s, name)) is not None and v > 0]

    return Chart(
        "Memory of the host",
        "bytes",
        _drawn(
            [
                ("process", line("rss_bytes")),
                ("process and its children", line("tree_rss_bytes")),
                ("limit", line("memory_limit_bytes")),
                ("swap", line("swap_bytes")),
            ],
            dashed=("limit",),
        ),
    )


def _gpu(entries: list[Entry], samples: list[Sample], zero: float) -> Chart:
    """What NVML says of the GPUs, and what the trainer predicted and measured of its own allocator."""
    used = [
        (s.mono - zero, float(sum(gpu.get("used_bytes", 0) for gpu in s.gpus))) for s in samples if s.gpus
    ]
    total = [
        (s.mono - zero, float(sum(gpu.get("total_bytes", 0) for gpu in s.gpus))) for s in samples if s.gpus
    ]
    end = max([entry.mono - zero for entry in entries] + [at for at, _ in used], default=0.0)
    lines: dict[str, list[Point]] = {"predicted": [], "measured in the step": []}
    for entry in entries:
        if isinstance(entry.event, events.MemoryMeasured) and entry.event.where == "card":
            for name, value in zip(
                lines, (entry.event.predicted_bytes, entry.event.measured_bytes), strict=True
            ):
                if value is not None:
                    lines[name] += [(entry.mono - zero, float(value)), (end, float(value))]
    return Chart(
        "Memory of the devices",
        "bytes",
        _drawn([("used", used), ("limit", total), *lines.items()], dashed=("limit", "predicted")),
    )


def _gpu_work(samples: list[Sample], zero: float) -> Chart:
    """The share of the time in which a kernel ran, by NVML; the mean over the run is beside it."""
    busy = [
        (s.mono - zero, sum(shares) / len(shares) / 100.0)
        for s in samples
        if (shares := [gpu["utilisation"] for gpu in s.gpus if gpu.get("utilisation") is not None])
    ]
    note = f"mean {sum(share for _, share in busy) / len(busy):.0%} over {len(busy)} samples" if busy else ""
    return Chart(
        "Use of the devices", "1", _drawn([("share of the time in which they compute", busy)]), note=note
    )
