"""What a verdict is worth, and the record of one environment: pure functions."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from tests.zoo.judge import BLAMING
from tests.zoo.trials import Trial

_DIGEST = re.compile(r"^weights ([0-9a-f]{64})\s*$", re.MULTILINE)


def score(trial: Trial, verdict: Mapping[str, Any] | None) -> tuple[str, str]:
    """(right | weaker | wrong, or quiet | blamed for a healthy program; what was said first).

    Weaker: the expected cause only as possible or behind another, or an honest "unknown". Wrong: another cause, or that
    nothing speaks against a faulty run.
    """
    if verdict is None:
        return ("wrong" if trial.causes else "blamed"), "no answer"
    findings = verdict.get("findings", [])
    said = f"{findings[0]['cause']} ({findings[0]['strength']})" if findings else "nothing"
    if not trial.causes:
        blamed = [one for one in findings if one["strength"] in BLAMING]
        return ("blamed" if blamed else "quiet"), said
    if not findings:
        return "wrong", said
    first = findings[0]
    if first["cause"] in trial.causes:
        return ("right" if first["strength"] in BLAMING else "weaker"), said
    named = any(one["cause"] in trial.causes for one in findings)
    mechanism = first["cause"] in ("unknown", trial.leads_to)
    return ("weaker" if named or mechanism else "wrong"), said


def digest(output: str) -> str:
    """The weights at the end, as a healthy program prints them."""
    found = _DIGEST.findall(output.replace("\r", ""))
    return found[-1] if found else ""
