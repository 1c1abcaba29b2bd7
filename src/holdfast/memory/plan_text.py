"""A plan as text and as JSON. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from holdfast.memory.breakdown import MemoryBreakdown, MemoryItem
from holdfast.memory.byte_sizes import shown
from holdfast.memory.memory_plan import MemoryPlan, PlanOption

ANSWER_TEXT = {"fits": "fits", "does-not-fit": "does not fit", "too-close": "too close to call"}


def as_json(
    plan: MemoryPlan, *, memory_bytes: int, target: str, host: Sequence[MemoryItem], notes: Sequence[str]
) -> dict[str, Any]:
    option = plan.chosen or plan.tried[-1]
    setup, account = option.setup, option.account
    return {
        "answer": option.answer, "method": account.method.name, "method_has_been": account.method.seen,
        "target": target, "device_memory_bytes": memory_bytes, "step_peak_bytes": account.step_peak_bytes,
        "total_bytes": account.total_bytes, "validation_bytes": account.validation_bytes or None,
        "at_most_bytes": None if account.method.never_yes else account.upper_step_bytes + account.outside_bytes,
        "lines": [line.as_json() for line in account.lines], "host": [line.as_json() for line in host],
        "micro_batch": setup.micro_batch, "accumulate": setup.accumulations, "precision": setup.precision,
        "rematerialise": setup.rematerialise, "input": setup.input, "backbone": setup.backbone,
        "as_asked": plan.asked.answer if not plan.asked.changes else "does-not-fit",
        "changes": [str(one) for one in option.changes], "costs": [one.cost for one in option.changes],
        "tried": [
            {"setup": one.setup.short(), "total_bytes": one.account.total_bytes, "answer": one.answer,
             "changes": [str(change) for change in one.changes]}
            for one in plan.tried
        ],
        "notes": list(notes),
    }  # fmt: skip


def as_text(
    plan: MemoryPlan, *, memory_bytes: int, target: str, host: Sequence[MemoryItem], notes: Sequence[str]
) -> str:
    option = plan.chosen or plan.tried[-1]
    parts = [_headline(plan, option, memory_bytes, target), ""]
    if option.changes and plan.chosen:
        parts += ["to change, in the order of least harm:"]
        parts += [f"  {change!s:<34} {change.cost}" for change in option.changes]
        parts.append("")
    parts += _table(option.account, memory_bytes)
    if option.account.validation_bytes:
        parts += [
            "",
            f"a validation between steps: about {shown(option.account.validation_bytes)}  (estimated)",
        ]
    if len(plan.tried) > 1:
        parts += ["", "tried:"]
        parts += [
            f"  {one.setup.short():<60} {_range(one.account):>22}  {ANSWER_TEXT[one.answer]}"
            for one in plan.tried
        ]
    if host:
        total = sum(line.bytes for line in host)
        parts += ["", f"memory of the host, about {shown(total)} at the highest:", *_lines(host)]
    parts += ["", *_method(option.account), *(f"note: {note}" for note in notes)]
    return "\n".join(parts)


def _headline(plan: MemoryPlan, option: PlanOption, memory_bytes: int, target: str) -> str:
    room = f"{shown(memory_bytes)} on {target}"
    if plan.chosen is None:
        words = "nothing tried fits" if option.answer == "does-not-fit" else "too close to call"
        return f"{words}: {option.setup.short()} takes {_range(option.account)} of {room}"
    batch = f"micro-batches of {option.setup.micro_batch}"
    if option.setup.accumulations > 1:
        batch += f", {option.setup.accumulations} added up to the batch of {option.setup.batch}"
    changed = [str(change) for change in option.changes if change.setting != "train.micro_batch"]
    how = f"fits with {', '.join(changed)}" if changed else "fits"
    return f"{how}: {batch} take {_range(option.account)} of {room}"


def _range(account: MemoryBreakdown) -> str:
    if account.method.never_yes:
        return f"at least {shown(account.total_bytes)}"
    return f"{shown(account.total_bytes)}, at most {shown(account.upper_step_bytes + account.outside_bytes)}"


def _table(account: MemoryBreakdown, memory_bytes: int) -> list[str]:
    rest = memory_bytes - account.total_bytes
    last = f"{shown(rest):>10}  left" if rest >= 0 else f"{shown(-rest):>10}  missing"
    return ["at the peak of a training step:", *_lines(account.lines),
            f"{shown(account.total_bytes):>10}  in all", last]  # fmt: skip


def _lines(lines: Sequence[MemoryItem]) -> list[str]:
    return [f"{shown(line.bytes):>10}  {line.what}  ({line.known})" for line in lines]


def _method(account: MemoryBreakdown) -> list[str]:
    return [f"method: {account.method.name}; it has been off by: {account.method.seen}"]
