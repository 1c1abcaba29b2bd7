"""What a verdict is worth: a pure function from the published fault and what was said."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .programs import Program

FAULTY = ("named", "warned", "symptom", "missed", "wrong")
HEALTHY = ("quiet", "false alarm")
BLAMING = ("established", "supported")
# True of many faults: they say that it does not learn, not why.
SYMPTOMS = frozenset({"loss-not-falling", "loss-not-finite", "learning-rate-too-high", "stopped-on-nan"})
# How a healthy run may end.
NORMAL = frozenset({"early-stopping", "stopped-by-callback"})


@dataclass(frozen=True)
class Mark:
    word: str
    said: str


def mark(program: Program, verdict: Mapping[str, Any] | None) -> Mark:
    if verdict is None:
        return Mark("missed" if not program.healthy else "quiet", "no verdict")
    findings = verdict.get("findings", [])
    blamed = [one for one in findings if one["strength"] in BLAMING and not _normal(one)]
    said = ", ".join(f"{one['cause']} ({one['strength']})" for one in findings)
    warned = bool(verdict.get("warned"))
    said = ", ".join(filter(None, [said, "warned" if warned else ""])) or "-"
    if program.healthy:
        alarms = [one for one in blamed if one["cause"] not in program.also]
        return Mark("false alarm" if alarms else "quiet", said)
    return Mark(_word(program, findings, blamed, warned=warned), said)


def _word(program: Program, findings: list[Any], blamed: list[Any], *, warned: bool) -> str:
    causes = {one["cause"] for one in blamed}
    if causes & set(program.causes):
        return "named"
    if causes - SYMPTOMS - {"framework-warning"} - set(program.also):
        return "wrong"
    if warned or "framework-warning" in causes:
        return "warned"
    possible = any(one["cause"] in program.causes for one in findings)
    return "symptom" if possible or causes & SYMPTOMS else "missed"


def _normal(finding: Mapping[str, Any]) -> bool:
    return bool(finding.get("normal")) or finding["cause"] in NORMAL
