"""What changed between two runs, and how much of the change in memory and time each difference accounts for. Pure.

A measured share is a difference of two measurements; an estimated one follows from counts (parameters,
elements of a buffer) or from a proportion (activations grow with the batch and the input).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from holdfast.explain.finding import Verdict
from holdfast.explain.portrait import Portrait, source_of
from holdfast.explain.words import clipped, share, size, span, whole

_NOT_TOLD = ("machine: memory", "data: bytes of a batch")
_LINES_OF_SCRIPT = 8
_DIGEST = "text "
_NOTICEABLE_BYTES = 32 << 20
_NOTICEABLE_SHARE = 0.1


@dataclass(frozen=True, slots=True)
class Effect:
    """A part of the change in memory or in the time of a step."""

    on: str  # memory | time
    what: str
    amount: float  # bytes, or seconds a step
    known: str  # measured | estimated


@dataclass(frozen=True, slots=True)
class Difference:
    what: str
    old: Any
    new: Any


@dataclass(frozen=True, slots=True)
class Ended:
    """How a run ended, in short."""

    outcome: str
    summary: str
    cause: str = ""
    title: str = ""

    def as_json(self) -> dict[str, Any]:
        return {"outcome": self.outcome, "summary": self.summary, "cause": self.cause, "title": self.title}


def ended(verdict: Verdict) -> Ended:
    first = verdict.findings[0] if verdict.findings else None
    return Ended(verdict.outcome, verdict.summary, first.cause if first else "", first.title if first else "")


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
        total = self.memory_change if effect.on == "memory" else self.time_change
        return effect.amount / total if total else None

    def as_json(self) -> dict[str, Any]:
        return {
            "old": self.old.name,
            "new": self.new.name,
            **(
                {"ended": {"old": self.endings[0].as_json(), "new": self.endings[1].as_json()}}
                if self.endings
                else {}
            ),
            "memory": {
                "old_bytes": self.old.peak_bytes,
                "new_bytes": self.new.peak_bytes,
                "change_bytes": self.memory_change,
            },
            "step": {"old_s": self.old.step_s, "new_s": self.new.step_s, "change_s": self.time_change},
            "differences": [{"what": one.what, "old": one.old, "new": one.new} for one in self.differences],
            "effects": [
                {
                    "on": one.on,
                    "what": one.what,
                    "amount": one.amount,
                    "share": self.of(one),
                    "known": one.known,
                }
                for one in self.effects
            ],
        }


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
            found.append(Difference(name, f"{_DIGEST}{old.settings[name]}", f"{_DIGEST}{new.settings[name]}"))
        else:
            found += _changed_lines(name, before.splitlines(), after.splitlines())
    return found


def _changed_lines(name: str, before: list[str], after: list[str]) -> list[Difference]:
    from difflib import SequenceMatcher

    changed: list[Difference] = []
    for what, was, until, low, high in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        old, new = before[was:until], after[low:high]
        if what != "equal" and len(old) == len(new):  # line by line
            changed += [
                Difference(f"{name}:{low + at + 1}", line.strip(), new[at].strip())
                for at, line in enumerate(old)
            ]
        elif what != "equal":
            changed.append(Difference(f"{name}:{low + 1}", "\n".join(old).strip(), "\n".join(new).strip()))
    # Not what differs in spaces and empty lines alone.
    told = [one for one in changed if _differs(one.old, one.new)]
    more = len(told) - _LINES_OF_SCRIPT
    if more > 0:
        told = [
            *told[:_LINES_OF_SCRIPT],
            Difference(f"{name}: {more} more places", "another text", "this one"),
        ]
    return told or [Difference(name, "other spaces or empty lines", "these")]


def _differs(old: Any, new: Any) -> bool:
    return (old or None) != (new or None)


def _noticeable(effect: Effect, old: Portrait) -> bool:
    if effect.on == "memory":
        return abs(effect.amount) >= _NOTICEABLE_BYTES
    return abs(effect.amount) >= _NOTICEABLE_SHARE * (old.step_s or 0.001)


def _on_memory(old: Portrait, new: Portrait) -> list[Effect]:
    found = [*_model_memory(old, new), *_pipeline_memory(old, new)]
    grown = new.kept_bytes - old.kept_bytes
    if grown > 0:
        found.append(Effect("memory", f"{new.kept_name} keeps more", grown, "measured"))
    if new.workers_bytes != old.workers_bytes:
        found.append(
            Effect("memory", "the loader's processes", new.workers_bytes - old.workers_bytes, "measured")
        )
    scale = _load(new) / _load(old) if _load(old) and _load(new) else 1.0
    held = sum(node.holds_bytes() or 0 for node in old.nodes) + old.workers_bytes + old.kept_bytes
    if scale != 1.0 and old.dynamic_bytes is not None:
        activations = max(0, old.dynamic_bytes - held - _model_bytes(old))
        words = f"activations: batch, input and precision make {scale:.2g} times the values"
        found.append(Effect("memory", words, activations * (scale - 1.0), "estimated"))
    if old.base_bytes is not None and new.base_bytes is not None:
        found.append(
            Effect(
                "memory", "what was there before training began", new.base_bytes - old.base_bytes, "measured"
            )
        )
    return found


def _load(portrait: Portrait) -> float:
    """Bytes of activations, up to a factor that both runs share."""
    return (portrait.batch or 0) * (portrait.input_values or 0) * portrait.value_bytes


def _model_bytes(portrait: Portrait) -> int:
    return 4 * (portrait.parameters + (1 + portrait.slots) * portrait.trainable)


def _model_memory(old: Portrait, new: Portrait) -> list[Effect]:
    weights = 4 * (new.parameters - old.parameters + new.trainable - old.trainable)
    slots = 4 * (new.slots * new.trainable - old.slots * old.trainable)
    return [
        Effect(
            "memory",
            f"{whole(new.parameters - old.parameters)} parameters and their gradients",
            weights,
            "estimated",
        ),
        Effect("memory", "what the optimizer keeps for each parameter", slots, "estimated"),
    ]


def _pipeline_memory(old: Portrait, new: Portrait) -> list[Effect]:
    """Buffers of the pipeline, full, by kind."""
    found = []
    for op in ("shuffle", "cache", "prefetch"):
        before = sum(node.holds_bytes() or 0 for node in old.nodes if node.op == op)
        after = sum(node.holds_bytes() or 0 for node in new.nodes if node.op == op)
        if before != after:
            words = f"{op}: holds {size(after)} when full, before {size(before)}"
            found.append(Effect("memory", words, after - before, "estimated"))
    return found


def _on_time(old: Portrait, new: Portrait) -> list[Effect]:
    found = []
    if old.wait_s is not None and new.wait_s is not None:
        found.append(Effect("time", "waiting for data", new.wait_s - old.wait_s, "measured"))
        if old.step_s is not None and new.step_s is not None:
            computing = (new.step_s - new.wait_s) - (old.step_s - old.wait_s)
            found.append(Effect("time", "computing", computing, "measured"))
    scale = _load(new) / _load(old) if _load(old) and _load(new) else 1.0
    computed = (old.step_s or 0.0) - (old.wait_s or 0.0)
    if scale != 1.0 and computed > 0:
        found.append(
            Effect("time", f"{scale:.2g} times the values a step", computed * (scale - 1.0), "estimated")
        )
    return found


# -- in words -----------------------------------------------------------------------------------


def told(comparison: Comparison, *, everything: bool = True) -> tuple[str, ...]:
    """The lines of a comparison, the change in memory and time first; with `everything` also where they stay as they
    were."""
    old, new = comparison.old, comparison.new
    memory, time = everything or _more_memory(comparison), everything or _other_pace(comparison)
    lines = []
    if comparison.memory_change is not None and memory and not _ended_too_early(comparison):
        lines.append(
            f"memory at its peak: {size(old.peak_bytes)} before, {size(new.peak_bytes)} now "
            f"({_signed(comparison.memory_change)})"
        )
        lines += [_line(comparison, effect) for effect in comparison.effects if effect.on == "memory"]
    if comparison.time_change is not None and time:
        lines.append(f"a step: {span(old.step_s or 0.0)} before, {span(new.step_s or 0.0)} now")
        lines += [_line(comparison, effect) for effect in comparison.effects if effect.on == "time"]
    lines += [_told_difference(one) for one in comparison.differences]
    return tuple(lines)


def _more_memory(comparison: Comparison) -> bool:
    change, before = comparison.memory_change or 0, comparison.old.peak_bytes or 0
    return abs(change) >= max(_NOTICEABLE_BYTES, _NOTICEABLE_SHARE * before)


def _other_pace(comparison: Comparison) -> bool:
    return abs(comparison.time_change or 0.0) >= _NOTICEABLE_SHARE * (comparison.old.step_s or 0.0)


def _ended_too_early(comparison: Comparison) -> bool:
    """A run without a step takes less memory than one with: that says nothing."""
    old, new = comparison.old, comparison.new
    less = min(old, new, key=lambda one: one.peak_bytes or 0)
    more = new if less is old else old
    return "fit" in less.unseen and not less.steps and more.steps > 0


def not_compared(comparison: Comparison) -> str:
    """What one of the runs ended before; "" when nothing is missing."""
    missing = {"data": "the data", "model": "the model", "fit": "the arguments of fit", "version": "the versions",
               "script": "the script"}  # fmt: skip
    names = [
        words for kind, words in missing.items() if kind in comparison.old.unseen ^ comparison.new.unseen
    ]
    early = [one.name for one in (comparison.old, comparison.new) if one.unseen]
    return f"not compared: {', '.join(names)}: not seen in {' and '.join(early)}" if names else ""


def _told_difference(one: Difference) -> str:
    if one.what.startswith("script: ") and str(one.old).startswith(_DIGEST):
        return f"{one.what} was edited; its text was not kept"
    if one.what.startswith("script: "):
        return f"{one.what}: {_quoted(one.old)} before, {_quoted(one.new)} now"
    return f"{one.what}: {_value(one.what, one.old)} before, {_value(one.what, one.new)} now"


def _quoted(text: Any) -> str:
    return f"`{clipped(str(text), 100)}`" if text else "nothing"


def _line(comparison: Comparison, effect: Effect) -> str:
    amount = (
        _signed(effect.amount)
        if effect.on == "memory"
        else f"{'+' if effect.amount >= 0 else '-'}{span(abs(effect.amount))}"
    )
    part = comparison.of(effect)
    total = f", {share(part, 1)} of the change" if part is not None and 0 < part < 3 else ""
    return f"  {amount}{total}: {effect.what} ({effect.known})"


def _signed(amount: float) -> str:
    return f"{'+' if amount >= 0 else '-'}{size(abs(amount))}"


def _value(what: str, value: Any) -> str:
    if value is None or value == "":
        return "none"
    if isinstance(value, int) and not isinstance(value, bool):
        return size(value) if "bytes" in what or "memory" in what else whole(value)
    return str(value)
