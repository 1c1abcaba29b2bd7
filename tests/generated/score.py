"""What each answer is worth, and the tables. Pure functions of outcomes."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .draw import Program

BLAMING = ("established", "supported")
NORMAL = frozenset({"silent-but-moving"})  # no fault of any program
MARKS = ("right", "weaker", "missed", "wrong", "quiet", "false alarm", "not made")


@dataclass(frozen=True)
class Score:
    name: str
    base: str
    fault: str
    expected: tuple[str, ...]
    mark: str
    said: str  # the first finding's cause
    strength: str
    file: str = ""
    seconds: float = 0.0
    exit_code: int | None = None
    notes: str = ""


def mark(program: Program, verdict: Mapping[str, Any] | None) -> tuple[str, str, str]:
    """The mark, and the first finding's cause and strength."""
    findings = [one for one in (verdict or {}).get("findings", []) if one["cause"] != "unknown"]
    if not program.fault:
        return _mark_healthy(program, findings)
    if not findings:
        return "missed", "-", ""
    said, strength = findings[0]["cause"], findings[0]["strength"]
    if said in program.expected:
        return ("right" if strength in BLAMING else "weaker"), said, strength
    if said in program.acceptable:
        return "weaker", said, strength
    return ("wrong" if strength in BLAMING else "missed"), said, strength


def _mark_healthy(program: Program, findings: list[Mapping[str, Any]]) -> tuple[str, str, str]:
    blamed = [
        one
        for one in findings
        if one["strength"] in BLAMING and one["cause"] not in NORMAL and one["cause"] not in program.allowed
    ]
    if blamed:
        return "false alarm", blamed[0]["cause"], blamed[0]["strength"]
    return "quiet", findings[0]["cause"] if findings else "-", findings[0]["strength"] if findings else ""


def line(score: Score) -> str:
    wanted = "/".join(score.expected) or "nothing"
    said = f"{score.said} ({score.strength})" if score.strength else score.said
    notes = f"  [{score.notes}]" if score.notes else ""
    return f"{score.mark:11s} {score.name}  {score.base:42s} {wanted} -> {said}  {score.seconds:.0f} s{notes}"


def tables(scores: list[Score]) -> str:
    """Accuracy, a confusion matrix as a list of pairs, and the marks by kind of base."""
    made = [one for one in scores if one.mark != "not made"]
    lines = [""]
    faulty = [one for one in made if one.fault]
    healthy = [one for one in made if not one.fault]
    for title, group in (("faulty", faulty), ("healthy", healthy)):
        if group:
            good = sum(one.mark in ("right", "quiet") for one in group)
            share = f"{good} of {len(group)} right at the first try ({100 * good / len(group):.0f} %)"
            lines.append(f"{title}: {share}  {_counts(group)}")
    pairs = Counter((one.expected[0] if one.fault else "(healthy)", one.said) for one in made)
    lines += ["", "expected -> said (number)"]
    lines += [f"  {want:28s} -> {said:28s} {n}" for (want, said), n in sorted(pairs.items())]
    kinds: dict[str, list[Score]] = defaultdict(list)
    for one in made:
        kinds[kind_of(one.base)].append(one)
    lines += ["", "by kind of base"]
    lines += [f"  {kind:14s} {_counts(group)}" for kind, group in sorted(kinds.items())]
    return "\n".join(lines)


def kind_of(base: str) -> str:
    first, *rest = base.split("-")
    if first == "keras":
        backend = f"/{rest[-1]}" if rest[-1] != "tensorflow" else ""
        return f"keras-{rest[-2]}{backend}"
    return first


def _counts(group: list[Score]) -> str:
    counts = Counter(one.mark for one in group)
    return ", ".join(f"{name} {counts[name]}" for name in MARKS if counts[name])
