"""What a verdict is worth: a pure function from what was expected and what was said."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .trials import Trial

BLAMING = ("established", "supported")
GOOD = ("right", "quiet")


@dataclass(frozen=True)
class Mark:
    word: str  # right | quiet | wrong | unknown | false alarm | no answer
    said: str  # what was said first, and how surely
    fatal: bool = False  # established and wrong


def mark(trial: Trial, verdict: Mapping[str, Any] | None, announced: str = "") -> Mark:
    """`announced`: an alarm while it ran, which a healthy program must not get either."""
    if verdict is None:
        return Mark("no answer", "")
    findings = verdict.get("findings", [])
    said = f"{findings[0]['cause']} ({findings[0]['strength']})" if findings else "-"
    blamed = [one for one in findings if one["strength"] in BLAMING]
    wrongly = [one for one in blamed if one["cause"] == trial.not_blamed] if trial.kind == "near" else []
    if wrongly:
        return Mark("false alarm", f"{wrongly[0]['cause']} ({wrongly[0]['strength']})", _sure(wrongly))
    if not trial.causes:
        if announced and trial.kind == "healthy":
            return Mark("false alarm", announced)
        if not blamed:
            return Mark("quiet", said)
        return Mark("false alarm", f"{blamed[0]['cause']} ({blamed[0]['strength']})", _sure(blamed))
    if not findings or findings[0]["cause"] == "unknown":
        return Mark("unknown", said)
    if findings[0]["cause"] not in trial.causes:
        # The mechanism alone is true as far as it goes: not the answer, but no falsehood either.
        return Mark("wrong", said, _sure(findings[:1]) and findings[0]["cause"] != trial.leads_to)
    if trial.leads_to and not _mentions(findings, trial.leads_to):
        return Mark("wrong", f"{said}, without {trial.leads_to}")
    return Mark("right", said)


def _sure(findings: list[Mapping[str, Any]]) -> bool:
    return any(one["strength"] == "established" for one in findings)


def _mentions(findings: list[Mapping[str, Any]], mechanism: str) -> bool:
    return any(mechanism in (one["cause"], one.get("led_to", "")) for one in findings)
