"""Draws programs from a seed: which base, which fault, which style. The same seed gives the same programs."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

from . import bases, style
from .draft import Draft
from .faults import FAULTS, Fault


@dataclass
class Program:
    name: str
    base: str
    fault: str  # empty: healthy
    expected: tuple[str, ...]
    acceptable: tuple[str, ...]
    file: str
    text: str
    draft: Draft
    limit_s: float = 150.0
    allowed: tuple[str, ...] = field(default=())  # of a healthy program: findings that are true of it


def features_of(base: str) -> set[str]:
    """The features of a base that every drawing of it has."""
    return set.intersection(*(bases.make(base, random.Random(n)).features for n in range(3)))


_FEATURES: dict[str, set[str]] = {}


def fitting(fault: Fault) -> list[str]:
    for base in bases.BASES:
        if base not in _FEATURES:
            _FEATURES[base] = features_of(base)
    return [base for base, features in _FEATURES.items() if fault.fits(features)]


def faulty(fault: Fault, rng: random.Random, base: str = "", name: str = "") -> Program:
    base = base or rng.choice(fitting(fault))
    draft = bases.make(base, rng)
    fault.change(draft, rng)
    file, text = style.render(draft, rng)
    return Program(name, base, fault.name, fault.expected, fault.acceptable, file, text, draft, fault.limit_s)


def healthy(base: str, rng: random.Random, name: str = "") -> Program:
    draft = bases.make(base, rng)
    file, text = style.render(draft, rng)
    allowed = tuple(
        feature.removeprefix("allowed:") for feature in draft.features if feature.startswith("allowed:")
    )
    return Program(name, base, "", (), (), file, text, draft, allowed=allowed)


def draw(seed: int, count: int, kind: str, only: list[str] | None = None) -> list[Program]:
    """`kind` is faulty, healthy or both (two faulty programs for each healthy one)."""
    first = random.Random(f"order {seed} {kind}")
    faults = [FAULTS[name] for name in only] if only else list(FAULTS.values())
    names = [*bases.BASES, *bases.NEAR_MISSES, *bases.NEAR_MISSES]  # near misses are the harder half
    first.shuffle(faults)
    first.shuffle(names)
    found = []
    for number in range(count):
        rng = random.Random(f"program {seed} {kind} {number}")
        name = f"{seed}-{number:03d}"
        if kind == "healthy" or (kind == "both" and number % 3 == 2):
            found.append(healthy(names[number % len(names)], rng, name))
        else:
            found.append(faulty(_next(faults, number, kind), rng, name=name))
    return found


def _next(faults: list[Fault], number: int, kind: str) -> Fault:
    index = number if kind == "faulty" else number - number // 3
    return faults[index % len(faults)]
