"""What changed between two runs, and how much of the change in memory and time each difference accounts for. Pure.

A measured share is a difference of two measurements; an estimated one follows from counts (parameters,
elements of a buffer) or from a proportion (activations grow with the batch and the input).
"""

from __future__ import annotations

import enum
from dataclasses import dataclass, field
from typing import Any

from holdfast.explain.compare.portrait import Portrait
from holdfast.explain.finding import Fact, Title, Values, Verdict

_LINES_OF_SCRIPT = 8
_NOTICEABLE_BYTES = 32 << 20
_NOTICEABLE_SHARE = 0.1


class On(enum.StrEnum):
    MEMORY = "memory"
    TIME = "time"


class Known(enum.StrEnum):
    MEASURED = "measured"  # the difference of two measurements
    ESTIMATED = "estimated"  # from counts or from a proportion


class Change(enum.StrEnum):
    """What kind of thing differs."""

    SETTING = "setting"
    SCRIPT_LINE = "script-line"
    SCRIPT_EDITED = "script-edited"  # its digest differs, and its text was not kept


@dataclass(frozen=True, slots=True)
class Effect:
    """A part of the change in memory or in the time of a step."""

    on: On
    kind: str  # "pipeline.buffer": what accounts for it; its words are in `report.comparison`
    amount: float  # bytes, or seconds a step
    known: Known
    values: Values = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Difference:
    what: str
    old: Any
    new: Any
    change: Change = Change.SETTING

    @property
    def is_one(self) -> bool:
        """None and what is empty are the same."""
        return (self.old or None) != (self.new or None)


@dataclass(frozen=True, slots=True)
class Ended:
    """How a run ended, in short."""

    outcome: str
    summary: tuple[Fact, ...]
    cause: str = ""
    title: Title | None = None


def ended(verdict: Verdict) -> Ended:
    cause, title = next(((one.cause, one.title) for one in verdict.findings), ("", None))
    return Ended(verdict.outcome, verdict.summary, cause, title)


@dataclass(frozen=True, slots=True)
class Comparison:
    old: Portrait
    new: Portrait
    differences: tuple[Difference, ...]
    effects: tuple[Effect, ...]
    endings: tuple[Ended, Ended] | None = None

    @property
    def memory_change(self) -> int | None:
        old, new = self.old.peak_bytes, self.new.peak_bytes
        return None if old is None or new is None else new - old

    @property
    def time_change(self) -> float | None:
        old, new = self.old.step_s, self.new.step_s
        return None if old is None or new is None else new - old

    def of(self, effect: Effect) -> float | None:
        total = self.memory_change if effect.on is On.MEMORY else self.time_change
        return effect.amount / total if total else None


def compare(old: Portrait, new: Portrait) -> Comparison:
    effects = [effect for effect in (*_on_memory(old, new), *_on_time(old, new)) if _noticeable(effect, old)]
    effects.sort(key=lambda effect: (effect.on, -abs(effect.amount)))
    return Comparison(old, new, (*_script_changes(old, new), *_setting_changes(old, new)), tuple(effects))


def _setting_changes(old: Portrait, new: Portrait) -> list[Difference]:
    """Without what one of the runs ended before: that is no difference between the two."""
    found = []
    for part in new.settings:
        before, after = old.settings.get(part), new.settings[part]
        if part != "script" and before is not None and after is not None:
            found += [Difference(name, before.get(name), after.get(name)) for name in after | before]
    if "fit" in new.unseen | old.unseen:
        early = "new" if "fit" in new.unseen else "old"
        found = [one for one in found if getattr(one, early)]
    return [one for one in found if one.is_one]


def _script_changes(old: Portrait, new: Portrait) -> list[Difference]:
    """The lines of the script that differ, where its text was kept; else the files whose digests do."""
    found = []
    was, now = old.settings.get("script") or {}, new.settings.get("script") or {}
    for file in [file for file in now if file in was and was[file] != now[file]]:
        before, after, name = old.scripts.get(file), new.scripts.get(file), f"script: {file}"
        if before is None or after is None:
            found.append(Difference(name, f"text {was[file]}", f"text {now[file]}", Change.SCRIPT_EDITED))
        else:
            found += _changed_lines(name, before.splitlines(), after.splitlines())
    return found


def _changed_lines(name: str, before: list[str], after: list[str]) -> list[Difference]:
    from difflib import SequenceMatcher

    changed: list[Difference] = []
    for what, was, until, low, high in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        old, new = before[was:until], after[low:high]
        if what != "equal" and len(old) == len(new):  # line by line
            changed += [_line(name, low + at + 1, line, new[at]) for at, line in enumerate(old)]
        elif what != "equal":
            changed.append(_line(name, low + 1, "\n".join(old), "\n".join(new)))
    shown = [one for one in changed if one.is_one]  # not what differs in spaces and empty lines alone
    if not shown:
        return [Difference(name, "other spaces or empty lines", "these", Change.SCRIPT_LINE)]
    if len(shown) <= _LINES_OF_SCRIPT:
        return shown
    more = f"{name}: {len(shown) - _LINES_OF_SCRIPT} more places"
    left_out = Difference(more, "another text", "this one", Change.SCRIPT_LINE)
    return [*shown[:_LINES_OF_SCRIPT], left_out]


def _line(name: str, number: int, old: str, new: str) -> Difference:
    return Difference(f"{name}:{number}", old.strip(), new.strip(), Change.SCRIPT_LINE)


def _noticeable(effect: Effect, old: Portrait) -> bool:
    if effect.on is On.MEMORY:
        return abs(effect.amount) >= _NOTICEABLE_BYTES
    return abs(effect.amount) >= _NOTICEABLE_SHARE * (old.step_s or 0.001)


def _on_memory(old: Portrait, new: Portrait) -> list[Effect]:
    found = [*_model_memory(old, new), *_pipeline_memory(old, new)]
    if new.kept_bytes > old.kept_bytes:
        grown = new.kept_bytes - old.kept_bytes
        found.append(Effect(On.MEMORY, "container.kept", grown, Known.MEASURED, {"name": new.kept_name}))
    workers = new.workers_bytes - old.workers_bytes
    found.append(Effect(On.MEMORY, "loader.processes", workers, Known.MEASURED))
    scale, held = _times_the_values(old, new), _buffers_bytes(old)
    if scale != 1.0 and old.dynamic_bytes is not None:
        model = 4 * (old.parameters + (1 + old.slots) * old.trainable)
        activations = max(0, old.dynamic_bytes - held - old.workers_bytes - old.kept_bytes - model)
        more = activations * (scale - 1.0)
        found.append(Effect(On.MEMORY, "activations.scaled", more, Known.ESTIMATED, {"times": scale}))
    if old.base_bytes is not None and new.base_bytes is not None:
        base = new.base_bytes - old.base_bytes
        found.append(Effect(On.MEMORY, "memory.before-training", base, Known.MEASURED))
    return found


def _times_the_values(old: Portrait, new: Portrait) -> float:
    """How many times the bytes of activations, from what they are proportional to; 1 where that is not known."""
    before, after = ((one.batch or 0) * (one.input_values or 0) * one.value_bytes for one in (old, new))
    return after / before if before and after else 1.0


def _model_memory(old: Portrait, new: Portrait) -> list[Effect]:
    more = new.parameters - old.parameters
    weights = 4 * (more + new.trainable - old.trainable)
    slots = 4 * (new.slots * new.trainable - old.slots * old.trainable)
    return [
        Effect(On.MEMORY, "model.parameters", weights, Known.ESTIMATED, {"parameters": more}),
        Effect(On.MEMORY, "optimizer.slots", slots, Known.ESTIMATED),
    ]


def _pipeline_memory(old: Portrait, new: Portrait) -> list[Effect]:
    """Buffers of the pipeline, full, by kind."""
    found = []
    for op in ("shuffle", "cache", "prefetch"):
        before, after = _buffers_bytes(old, op), _buffers_bytes(new, op)
        values = {"op": op, "old_bytes": before, "new_bytes": after}
        found.append(Effect(On.MEMORY, "pipeline.buffer", after - before, Known.ESTIMATED, values))
    return found


def _buffers_bytes(portrait: Portrait, op: str = "") -> int:
    return sum(node.holds_bytes() or 0 for node in portrait.nodes if node.op == op or not op)


def _on_time(old: Portrait, new: Portrait) -> list[Effect]:
    found = []
    if old.wait_s is not None and new.wait_s is not None:
        found.append(Effect(On.TIME, "step.data-wait", new.wait_s - old.wait_s, Known.MEASURED))
        if old.step_s is not None and new.step_s is not None:
            computing = (new.step_s - new.wait_s) - (old.step_s - old.wait_s)
            found.append(Effect(On.TIME, "step.computing", computing, Known.MEASURED))
    scale, computed = _times_the_values(old, new), (old.step_s or 0.0) - (old.wait_s or 0.0)
    if scale != 1.0 and computed > 0:
        amount = computed * (scale - 1.0)
        found.append(Effect(On.TIME, "step.values", amount, Known.ESTIMATED, {"times": scale}))
    return found


# -- what of it is worth showing -----------------------------------------------------------------


def more_memory(comparison: Comparison) -> bool:
    change, before = comparison.memory_change or 0, comparison.old.peak_bytes or 0
    return abs(change) >= max(_NOTICEABLE_BYTES, _NOTICEABLE_SHARE * before)


def other_pace(comparison: Comparison) -> bool:
    return abs(comparison.time_change or 0.0) >= _NOTICEABLE_SHARE * (comparison.old.step_s or 0.0)


def ended_too_early(comparison: Comparison) -> bool:
    """A run without a step takes less memory than one with: that says nothing."""
    less, more = sorted((comparison.old, comparison.new), key=lambda one: one.peak_bytes or 0)
    return "fit" in less.unseen and not less.steps and more.steps > 0
