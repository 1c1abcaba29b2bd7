"""A plan as text and as JSON. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from holdfast.memory.breakdown import MemoryBreakdown, MemoryItem
from holdfast.memory.memory_plan import MemoryPlan, PlanOption
from holdfast.units import exact_size

ANSWER_TEXT = {"fits": "fits", "does-not-fit": "does not fit", "too-close": "too close to call"}


def as_json(
    plan: MemoryPlan, *, memory_bytes: int, target: str, host: Sequence[MemoryItem], notes: Sequence[str]
) -> dict[str, Any]:
    option = plan.chosen or plan.options[-1]
    config, breakdown = option.config, option.breakdown
    return {
        "answer": option.fit_answer, "method": breakdown.method.name, "method_has_been": breakdown.method.validated_on,
        "target": target, "device_memory_bytes": memory_bytes, "step_peak_bytes": breakdown.step_peak_bytes,
        "total_bytes": breakdown.total_bytes, "validation_bytes": breakdown.validation_bytes or None,
        "at_most_bytes": None if breakdown.method.is_lower_bound else breakdown.upper_total_bytes,
        "lines": [item.as_json() for item in breakdown.items], "host": [item.as_json() for item in host],
        "micro_batch": config.micro_batch, "accumulate": config.accumulations, "precision": config.precision,
        "rematerialise": config.rematerialise, "input": config.input, "backbone": config.backbone,
        "as_asked": plan.as_configured.fit_answer if not plan.as_configured.changes else "does-not-fit",
        "changes": [str(change) for change in option.changes], "costs": [change.cost for change in option.changes],
        "tried": [
            {"setup": other.config.label(), "total_bytes": other.breakdown.total_bytes, "answer": other.fit_answer,
             "changes": [str(change) for change in other.changes]}
            for other in plan.options
        ],
        "notes": list(notes),
    }  # fmt: skip


def as_text(
    plan: MemoryPlan, *, memory_bytes: int, target: str, host: Sequence[MemoryItem], notes: Sequence[str]
) -> str:
    option = plan.chosen or plan.options[-1]
    parts = [_headline(plan, option, memory_bytes, target), ""]
    if option.changes and plan.chosen:
        parts += ["to change, in the order of least harm:"]
        parts += [f"  {change!s:<34} {change.cost}" for change in option.changes]
        parts.append("")
    parts += _table(option.breakdown, memory_bytes)
    if option.breakdown.validation_bytes:
        parts += [
            "",
            f"a validation between steps: about {exact_size(option.breakdown.validation_bytes)}  (estimated)",
        ]
    if len(plan.options) > 1:
        parts += ["", "tried:"]
        parts += [
            f"  {other.config.label():<60} {_range(other.breakdown):>22}  {ANSWER_TEXT[other.fit_answer]}"
            for other in plan.options
        ]
    if host:
        total = sum(item.bytes for item in host)
        parts += ["", f"host memory, about {exact_size(total)} at the peak:", *_lines(host)]
    parts += ["", *_method(option.breakdown), *(f"note: {note}" for note in notes)]
    return "\n".join(parts)


def _headline(plan: MemoryPlan, option: PlanOption, memory_bytes: int, target: str) -> str:
    room = f"{exact_size(memory_bytes)} on {target}"
    if plan.chosen is None:
        verdict = "nothing tried fits" if option.fit_answer == "does-not-fit" else "too close to call"
        return f"{verdict}: {option.config.label()} takes {_range(option.breakdown)} of {room}"
    batch = f"micro-batches of {option.config.micro_batch}"
    if option.config.accumulations > 1:
        batch += f", {option.config.accumulations} accumulated to the batch of {option.config.batch}"
    changed = [str(change) for change in option.changes if change.setting != "train.micro_batch"]
    verdict = f"fits with {', '.join(changed)}" if changed else "fits"
    return f"{verdict}: {batch} take {_range(option.breakdown)} of {room}"


def _range(breakdown: MemoryBreakdown) -> str:
    if breakdown.method.is_lower_bound:
        return f"at least {exact_size(breakdown.total_bytes)}"
    return f"{exact_size(breakdown.total_bytes)}, at most {exact_size(breakdown.upper_total_bytes)}"


def _table(breakdown: MemoryBreakdown, memory_bytes: int) -> list[str]:
    rest = memory_bytes - breakdown.total_bytes
    last = f"{exact_size(rest):>10}  free" if rest >= 0 else f"{exact_size(-rest):>10}  missing"
    return ["at the peak of a training step:", *_lines(breakdown.items),
            f"{exact_size(breakdown.total_bytes):>10}  in total", last]  # fmt: skip


def _lines(items: Sequence[MemoryItem]) -> list[str]:
    return [f"{exact_size(item.bytes):>10}  {item.label}  ({item.basis})" for item in items]


def _method(breakdown: MemoryBreakdown) -> list[str]:
    return [f"method: {breakdown.method.name}; errors so far: {breakdown.method.validated_on}"]
