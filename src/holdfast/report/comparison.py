"""A comparison of two runs, as text for a terminal and as JSON."""

from __future__ import annotations

from typing import Any

from holdfast.explain.compare.differences import (
    Change,
    Comparison,
    Difference,
    Effect,
    Ended,
    On,
    ended_too_early,
    more_memory,
    other_pace,
)
from holdfast.explain.compare.last_good import LastGood
from holdfast.report import wording
from holdfast.report.text import wrap
from holdfast.report.wording.template import Text, clipped, filled
from holdfast.units import count, duration, percent, size

_MOST_LINES = 12  # of what changed since the last good run
_QUOTE_LENGTH = 100

_EFFECTS: dict[str, Text] = {
    "container.kept": "{name} keeps more",
    "loader.processes": "the loader's processes",
    "activations.scaled": lambda values: (
        f"activations: batch, input and precision make {values['times']:.2g} times the values"
    ),
    "memory.before-training": "what was there before training began",
    "model.parameters": "{parameters:count} parameters and their gradients",
    "optimizer.slots": "what the optimizer keeps for each parameter",
    "pipeline.buffer": "{op}: holds {new_bytes:size} when full, before {old_bytes:size}",
    "step.data-wait": "waiting for data",
    "step.computing": "computing",
    "step.values": lambda values: f"{values['times']:.2g} times the values a step",
}
_UNSEEN = {"data": "the data", "model": "the model", "fit": "the arguments of fit", "version": "the versions",
           "script": "the script"}  # fmt: skip


def render(comparison: Comparison, width: int = 80) -> str:
    """How each ended, the change in memory and time with what accounts for it, then every setting that differs."""
    body = lines(comparison) or ["nothing that is recorded differs"]
    if missing := not_compared(comparison):
        body.append(missing)
    if comparison.endings is not None:
        runs = (("before", comparison.old.name), ("now", comparison.new.name))
        body[:0] = [
            f"{when}, {name}: {_ended(one)}"
            for (when, name), one in zip(runs, comparison.endings, strict=True)
        ]
    folded = [
        part for line in body for part in wrap(line, width=width - 2, hang=6 if line.startswith(" ") else 4)
    ]
    head = f"compare: {comparison.old.name} and {comparison.new.name}"
    return "\n".join([head, *("  " + line for line in folded)]) + "\n"


def since_last_good(found: LastGood | None) -> list[str]:
    """What changed since the last good run of this script; empty when there is none, or nothing changed."""
    if found is None or not (changed := lines(found.comparison, everything=False)):
        return []
    left_out = len(changed) - _MOST_LINES
    more = [f"… {left_out} more: holdfast compare {found.old} {found.new}"] if left_out > 0 else []
    return [f"the last good run of this script, {found.comparison.old.name}:", *changed[:_MOST_LINES], *more]


def lines(comparison: Comparison, *, everything: bool = True) -> list[str]:
    """The change in memory and time first; with `everything` also where they did not change."""
    old, new = comparison.old, comparison.new
    found = []
    memory = everything or more_memory(comparison)
    if comparison.memory_change is not None and memory and not ended_too_early(comparison):
        found.append(
            f"memory at its peak: {size(old.peak_bytes)} before, {size(new.peak_bytes)} now "
            f"({_signed(comparison.memory_change)})"
        )
        found += [_effect(comparison, effect) for effect in comparison.effects if effect.on is On.MEMORY]
    if comparison.time_change is not None and (everything or other_pace(comparison)):
        found.append(f"a step: {duration(old.step_s or 0.0)} before, {duration(new.step_s or 0.0)} now")
        found += [_effect(comparison, effect) for effect in comparison.effects if effect.on is On.TIME]
    return found + [difference_line(one) for one in comparison.differences]


def not_compared(comparison: Comparison) -> str:
    """What one of the runs ended before; "" when nothing is missing."""
    names = [
        words for kind, words in _UNSEEN.items() if kind in comparison.old.unseen ^ comparison.new.unseen
    ]
    early = [one.name for one in (comparison.old, comparison.new) if one.unseen]
    return f"not compared: {', '.join(names)}: not seen in {' and '.join(early)}" if names else ""


def as_json(comparison: Comparison) -> dict[str, Any]:
    old, new = comparison.old, comparison.new
    both = comparison.endings
    return {
        "old": old.name,
        "new": new.name,
        **({"ended": {"old": _ended_json(both[0]), "new": _ended_json(both[1])}} if both else {}),
        "memory": {
            "old_bytes": old.peak_bytes,
            "new_bytes": new.peak_bytes,
            "change_bytes": comparison.memory_change,
        },
        "step": {"old_s": old.step_s, "new_s": new.step_s, "change_s": comparison.time_change},
        "differences": [{"what": one.what, "old": one.old, "new": one.new} for one in comparison.differences],
        "effects": [
            {
                "on": one.on.value,
                "what": filled(_EFFECTS[one.kind], one.values),
                "amount": one.amount,
                "share": comparison.of(one),
                "known": one.known.value,
            }
            for one in comparison.effects
        ],
    }


def _ended_json(one: Ended) -> dict[str, str]:
    title = wording.title(one.title) if one.title is not None else ""
    return {
        "outcome": one.outcome,
        "summary": wording.summary(one.summary),
        "cause": one.cause,
        "title": title,
    }


def _ended(one: Ended) -> str:
    found = f"; {one.cause}: {wording.title(one.title)}" if one.title is not None else ""
    return f"{one.outcome}; {wording.summary(one.summary)}{found}"


def difference_line(one: Difference) -> str:
    if one.change is Change.SCRIPT_EDITED:
        return f"{one.what} was edited; its text was not kept"
    if one.change is Change.SCRIPT_LINE:
        return f"{one.what}: {_quoted(one.old)} before, {_quoted(one.new)} now"
    return f"{one.what}: {_value(one.what, one.old)} before, {_value(one.what, one.new)} now"


def _quoted(text: Any) -> str:
    return f"`{clipped(str(text), _QUOTE_LENGTH)}`" if text else "nothing"


def _effect(comparison: Comparison, effect: Effect) -> str:
    amount = _signed(effect.amount) if effect.on is On.MEMORY else _signed_s(effect.amount)
    part = comparison.of(effect)
    total = f", {percent(part)} of the change" if part is not None and 0 < part < 3 else ""
    return f"  {amount}{total}: {filled(_EFFECTS[effect.kind], effect.values)} ({effect.known})"


def _signed(amount: float) -> str:
    return f"{'+' if amount >= 0 else '-'}{size(abs(amount))}"


def _signed_s(amount: float) -> str:
    return f"{'+' if amount >= 0 else '-'}{duration(abs(amount))}"


def _value(what: str, value: Any) -> str:
    if value is None or value == "":
        return "none"
    if isinstance(value, int) and not isinstance(value, bool):
        return size(value) if "bytes" in what or "memory" in what else count(value)
    return f"{value:.6g}" if isinstance(value, float) else str(value)
