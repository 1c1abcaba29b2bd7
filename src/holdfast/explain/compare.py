"""What changed between two runs, and how much of the change in memory and time each difference accounts for. Pure.

A measured share is a difference of two measurements; an estimated one follows from counts (parameters,
elements of a buffer) or from a proportion (activations grow with the batch and the input).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from holdfast.explain.portrait import Portrait
from holdfast.explain.words import share, size, span, whole

_NOT_TOLD = ("machine: memory", "data: bytes of a batch")
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
class Comparison:
    old: Portrait
    new: Portrait
    differences: tuple[Difference, ...]
    effects: tuple[Effect, ...]

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
    changed = [
        Difference(name, old.settings.get(name), new.settings.get(name))
        for name in names
        if name not in _NOT_TOLD and _differs(old.settings.get(name), new.settings.get(name))
    ]
    effects = [effect for effect in (*_on_memory(old, new), *_on_time(old, new)) if _noticeable(effect, old)]
    effects.sort(key=lambda effect: (effect.on, -abs(effect.amount)))
    return Comparison(old, new, tuple(changed), tuple(effects))


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


def told(comparison: Comparison) -> tuple[str, ...]:
    """The lines of a comparison, the change in memory and time first."""
    old, new = comparison.old, comparison.new
    lines = []
    if comparison.memory_change is not None:
        lines.append(
            f"memory at its peak: {size(old.peak_bytes)} before, {size(new.peak_bytes)} now "
            f"({_signed(comparison.memory_change)})"
        )
        lines += [_line(comparison, effect) for effect in comparison.effects if effect.on == "memory"]
    if comparison.time_change is not None:
        lines.append(f"a step: {span(old.step_s or 0.0)} before, {span(new.step_s or 0.0)} now")
        lines += [_line(comparison, effect) for effect in comparison.effects if effect.on == "time"]
    lines += [
        f"{one.what}: {_value(one.what, one.old)} before, {_value(one.what, one.new)} now"
        for one in comparison.differences
    ]
    return tuple(lines)


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
