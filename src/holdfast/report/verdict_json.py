"""A verdict as the object that `holdfast explain --json` prints: every sentence with its kind and its values."""

from __future__ import annotations

import math
from typing import Any

from holdfast.explain.finding import Fact, Finding, Remedy, RuledOut, Values, Verdict
from holdfast.report import wording
from holdfast.report.comparison import since_last_good

#: It grows when a key changes its meaning or goes; new keys do not change it (docs/api.md).
SCHEMA = "holdfast.verdict/1"


def as_json(verdict: Verdict) -> dict[str, Any]:
    return {
        "schema": SCHEMA,
        "run": verdict.run,
        "outcome": verdict.outcome.value,
        "step": verdict.step,
        "of": verdict.of,
        "summary": wording.summary(verdict.summary),
        "findings": [_finding(one) for one in verdict.findings],
        "ruled_out": [_ruled_out(one) for one in verdict.ruled_out],
        "known": [_fact(one) for one in verdict.known],
        "warned": [_fact(one) for one in verdict.warned],
        "since_last_good": since_last_good(verdict.changes),
        **verdict.extra,
    }


def _finding(finding: Finding) -> dict[str, Any]:
    return {
        "cause": finding.cause,
        "strength": finding.strength.word,
        "title": wording.title(finding.title),
        "kind": finding.title.kind,
        "values": plain(finding.title.values),
        "because": [_fact(one) for one in finding.because],
        "against": [_fact(one) for one in finding.against],
        "remedies": [_remedy(one) for one in finding.remedies],
        "led_to": finding.led_to,
        "normal": finding.normal,
        "more": f"holdfast causes {finding.cause}",
    }


def _fact(fact: Fact) -> dict[str, Any]:
    return {
        "fact": wording.sentence(fact),
        "source": fact.source,
        "kind": fact.kind,
        "values": plain(fact.values),
    }


def _remedy(remedy: Remedy) -> dict[str, Any]:
    do, code = wording.advice(remedy)
    pasted = {"code": code} if code else {}
    return {"do": do, "safety": remedy.safety, **pasted, "kind": remedy.kind, "values": plain(remedy.values)}


def _ruled_out(one: RuledOut) -> dict[str, Any]:
    return {
        "cause": one.cause,
        "why": wording.why_not(one),
        "source": one.source,
        "kind": one.kind,
        "values": plain(one.values),
    }


def plain(values: Values) -> dict[str, Any]:
    """The values as JSON has them; a number that is not finite becomes a word, as in the journal."""
    return {name: _plain(value) for name, value in values.items()}


def _plain(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    if isinstance(value, dict):
        return {str(name): _plain(one) for name, one in value.items()}
    return value
