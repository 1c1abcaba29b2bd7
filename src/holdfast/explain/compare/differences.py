"""What changed between two runs, and how much of the change in memory and time each difference accounts for. Pure.

A measured share is a difference of two measurements; an estimated one follows from counts (parameters,
elements of a buffer) or from a proportion (activations grow with the batch and the input).
"""

from __future__ import annotations

import enum
from dataclasses import dataclass, field
from typing import Any

from holdfast.explain.compare.portrait import Portrait, source_of
from holdfast.explain.finding import Fact, Title, Values, Verdict

_NOT_TOLD = ("machine: memory", "data: bytes of a batch")
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


@dataclass(frozen=True, slots=True)
class Ended:
    """How a run ended, in short."""

    outcome: str
    summary: tuple[Fact, ...]
    cause: str = ""
    title: Title | None = None


def ended(verdict: Verdict) -> Ended:
    first = verdict.findings[0] if verdict.findings else None
    if first is None:
        return Ended(verdict.outcome, verdict.summary)
    return Ended(verdict.outcome, verdict.summary, first.cause, first.title)


@dataclass(frozen=True, slots=True)
class Comparison:
    old: Portrait
    new: Portrait
    differences: tuple[Difference, ...]
    effects: tuple[Effect, ...]
    endings: tuple[Ended, Ended] | None = None

    @property
    def memory_change(self) -> int | None:
        if self.old.peak_bytes is None or self.new.peak_bytes is None:
            return None
        return self.new.peak_bytes - self.old.peak_bytes

    @property
    def time_change(self) -> float | None:
        if self.old.step_s is None or self.new.step_s is None:
            return None
        return self.new.step_s - self.old.step_s

    def of(self, effect: Effect) -> float | None:
        total = self.memory_change if effect.on is On.MEMORY else self.time_change
        return effect.amount / total if total else None


def compare(old: Portrait, new: Portrait) -> Comparison:
    names = [*new.settings, *(name for name in old.settings if name not in new.settings)]
    changed = _script_changes(old, new) + [
        Difference(name, old.settings.get(name), new.settings.get(name))
        for name in names
        if name not in _NOT_TOLD
        and not name.startswith("script: ")
        and _differs(old.settings.get(name), new.settings.get(name))
        and not _not_reached(name, old, new)
    ]
    effects = [effect for effect in (*_on_memory(old, new), *_on_time(old, new)) if _noticeable(effect, old)]
    effects.sort(key=lambda effect: (effect.on, -abs(effect.amount)))
    return Comparison(old, new, tuple(changed), tuple(effects))


def _not_reached(name: str, old: Portrait, new: Portrait) -> bool:
    """One of the runs ended before such a thing could be seen in it: that is no difference between the two."""
    if source_of(name) in old.unseen | new.unseen:
        return True
    early = new if "fit" in new.unseen else old if "fit" in old.unseen else None
    return early is not None and not early.settings.get(name)


def _script_changes(old: Portrait, new: Portrait) -> list[Difference]:
    """The lines of the script that differ, where its text was kept; else the files whose digests do."""
    found = []
    for name in [name for name in new.settings if name.startswith("script: ") and name in old.settings]:
        if old.settings[name] == new.settings[name]:
            continue
        file = name.removeprefix("script: ")
        before, after = old.scripts.get(file), new.scripts.get(file)
        if before is None or after is None:
            digests = f"text {old.settings[name]}", f"text {new.settings[name]}"
            found.append(Difference(name, *digests, Change.SCRIPT_EDITED))
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
    # Not what differs in spaces and empty lines alone.
    told = [one for one in changed if _differs(one.old, one.new)]
    more = len(told) - _LINES_OF_SCRIPT
    if more > 0:
        told = [
            *told[:_LINES_OF_SCRIPT],
            Difference(f"{name}: {more} more places", "another text", "this one", Change.SCRIPT_LINE),
        ]
    return told or [Difference(name, "other spaces or empty lines", "these", Change.SCRIPT_LINE)]


def _line(name: str, number: int, old: str, new: str) -> Difference:
    return Difference(f"{name}:{number}", old.strip(), new.strip(), Change.SCRIPT_LINE)


def _differs(old: Any, new: Any) -> bool:
    return (old or None) != (new or None)


def _noticeable(effect: Effect, old: Portrait) -> bool:
    if effect.on is On.MEMORY:
        return abs(effect.amount) >= _NOTICEABLE_BYTES
    return abs(effect.amount) >= _NOTICEABLE_SHARE * (old.step_s or 0.001)


def _on_memory(old: Portrait, new: Portrait) -> list[Effect]:
    found = [*_model_memory(old, new), *_pipeline_memory(old, new)]
    grown = new.kept_bytes - old.kept_bytes
    if grown > 0:
        found.append(_measured("container.kept", grown, {"name": new.kept_name}))
    if new.workers_bytes != old.workers_bytes:
        found.append(_measured("loader.processes", new.workers_bytes - old.workers_bytes))
    scale = _load(new) / _load(old) if _load(old) and _load(new) else 1.0
    held = sum(node.holds_bytes() or 0 for node in old.nodes) + old.workers_bytes + old.kept_bytes
    if scale != 1.0 and old.dynamic_bytes is not None:
        activations = max(0, old.dynamic_bytes - held - _model_bytes(old))
        found.append(_estimated("activations.scaled", activations * (scale - 1.0), {"times": scale}))
    if old.base_bytes is not None and new.base_bytes is not None:
        found.append(_measured("memory.before-training", new.base_bytes - old.base_bytes))
    return found


def _measured(kind: str, amount: float, values: Values | None = None) -> Effect:
    return Effect(On.MEMORY, kind, amount, Known.MEASURED, values or {})


def _estimated(kind: str, amount: float, values: Values | None = None) -> Effect:
    return Effect(On.MEMORY, kind, amount, Known.ESTIMATED, values or {})


def _load(portrait: Portrait) -> float:
    """Bytes of activations, up to a factor that both runs share."""
    return (portrait.batch or 0) * (portrait.input_values or 0) * portrait.value_bytes


def _model_bytes(portrait: Portrait) -> int:
    return 4 * (portrait.parameters + (1 + portrait.slots) * portrait.trainable)


def _model_memory(old: Portrait, new: Portrait) -> list[Effect]:
    more = new.parameters - old.parameters
    weights = 4 * (more + new.trainable - old.trainable)
    slots = 4 * (new.slots * new.trainable - old.slots * old.trainable)
    return [
        _estimated("model.parameters", weights, {"parameters": more}),
        _estimated("optimizer.slots", slots),
    ]


def _pipeline_memory(old: Portrait, new: Portrait) -> list[Effect]:
    """Buffers of the pipeline, full, by kind."""
    found = []
    for op in ("shuffle", "cache", "prefetch"):
        before = sum(node.holds_bytes() or 0 for node in old.nodes if node.op == op)
        after = sum(node.holds_bytes() or 0 for node in new.nodes if node.op == op)
        if before != after:
            values = {"op": op, "old_bytes": before, "new_bytes": after}
            found.append(_estimated("pipeline.buffer", after - before, values))
    return found


def _on_time(old: Portrait, new: Portrait) -> list[Effect]:
    found = []
    if old.wait_s is not None and new.wait_s is not None:
        found.append(Effect(On.TIME, "step.data-wait", new.wait_s - old.wait_s, Known.MEASURED))
        if old.step_s is not None and new.step_s is not None:
            computing = (new.step_s - new.wait_s) - (old.step_s - old.wait_s)
            found.append(Effect(On.TIME, "step.computing", computing, Known.MEASURED))
    scale = _load(new) / _load(old) if _load(old) and _load(new) else 1.0
    computed = (old.step_s or 0.0) - (old.wait_s or 0.0)
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
    old, new = comparison.old, comparison.new
    less = min(old, new, key=lambda one: one.peak_bytes or 0)
    more = new if less is old else old
    return "fit" in less.unseen and not less.steps and more.steps > 0
