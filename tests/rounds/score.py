"""Right, weaker, missed or wrong: the words of docs/truth.md."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .case import Case

_SURE = ("established", "supported")


@dataclass(frozen=True)
class Mark:
    word: (
        str  # right | weaker | missed | wrong | WRONG (established); for healthy programs quiet | false alarm
    )
    text: str


def mark(case: Case, verdict: dict[str, Any] | None, announced: str = "") -> Mark:
    """`announced`: an alarm while it ran, which a healthy program must not get either."""
    if verdict is None:
        return Mark("no verdict", "")
    findings = verdict["findings"]
    shown = ", ".join(f"{one['cause']} ({one['strength']})" for one in findings) or "nothing"
    text = f"{verdict['outcome']}: {shown}" + (f"  [{case.cause}]" if case.cause else "")
    if case.kind == "healthy":
        true = set(case.also_right)  # and no fault
        blamed = [
            one
            for one in findings
            if one["strength"] in _SURE and not one.get("normal") and one["cause"] not in true
        ]
        return Mark("FALSE ALARM" if blamed or announced else "quiet", f"{text}  {announced}".rstrip())
    return Mark(_word(case, findings), text)


def _word(case: Case, findings: list[dict[str, Any]]) -> str:
    right = {case.cause, *case.also_right}
    if not findings:
        return "missed"
    first = findings[0]
    if first["cause"] in right:
        return "right" if first["strength"] in _SURE else "weaker"
    if any(one["cause"] in right for one in findings):
        return "weaker"
    return "WRONG" if first["strength"] == "established" else "wrong"
