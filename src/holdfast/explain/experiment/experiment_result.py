"""What an experiment showed, and what that changes about the finding that it was about.

A finding that the experiment confirms is raised by one step: the corrected model learns, and the same model as it was
does not, on the same rows with the same seed. Whether it learns is judged as the course of a run is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from holdfast.explain.evidence import Evidence
from holdfast.explain.experiment.model_corrections import CORRECTIONS
from holdfast.explain.finding import Fact, Finding, Strength
from holdfast.explain.readings.course import Course, course
from holdfast.journal import events as ev

SOURCE = "experiment/result.json"
_OFFER = "experiment/model.json"
#: Of what the model as it was leaves wrong or unexplained: a correction that leaves less than this share is better.
_BETTER = 0.5


@dataclass(frozen=True)
class Tried:
    """One training of the experiment."""

    change: str  # "" for the model as it was
    values: dict[str, Any]
    numbers: dict[str, Any]  # as the process measured them

    def learned(self, majority: float | None) -> bool | None:
        if self.numbers.get("error") or self.numbers.get("broken"):
            return False
        unexplained = self.numbers.get("unexplained")
        accuracy = self.numbers.get("accuracy")
        last = unexplained if unexplained is not None else 1.0
        judged = Course(1.0, last, last, 0, 0, SOURCE, 1.0, accuracy, majority)
        return judged.learned

    @property
    def wrong(self) -> float:
        """The share of answers that are wrong, or of the variance that is not explained."""
        accuracy = self.numbers.get("accuracy")
        return 1 - accuracy if accuracy is not None else float(self.numbers.get("unexplained", 1.0))


def tried(result: Any) -> list[Tried]:
    """Of the stored result; empty where it is not what this version writes."""
    rows = result.get("tried") if isinstance(result, dict) else None
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        return []
    return [Tried(str(row.get("change") or ""), row.get("values") or {}, row) for row in rows]


def best(listed: Sequence[Tried], majority: float | None) -> Tried:
    """The first correction that learns; else the one that came farthest."""
    learning = [one for one in listed if one.learned(majority)]
    if learning:
        return learning[0]
    return min(listed, key=lambda one: one.wrong)


def subject(findings: Sequence[Finding]) -> Finding | None:
    """The first finding that an experiment can be about."""
    return next((one for one in findings if one.cause in CORRECTIONS), None)


def weighed(finding: Finding, evidence: Evidence) -> Finding:
    """With what the experiment about it showed."""
    result = evidence.experiment
    listed = tried(result)
    if (
        len(listed) < 2
        or result is None
        or result.get("cause") != finding.cause
        or not _is_of_this(result, evidence)
    ):
        return finding
    majority = result.get("majority")
    was, then = listed[0], best(listed[1:], majority)
    fact = _fact(result, was, then)
    if fact.kind not in ("experiment.learns", "experiment.learns-better"):
        return replace(finding, against=[*finding.against, fact])
    sure = fact.kind == "experiment.learns"
    strength = _raised(finding.strength, evidence) if sure else finding.strength
    return replace(finding, strength=strength, because=[*finding.because, fact])


def _is_of_this(result: dict[str, Any], evidence: Evidence) -> bool:
    """And not of an earlier fit or attempt, whose model was stored before."""
    kept = evidence.last(ev.ExperimentKept)
    return kept is not None and not kept.event.left_out and result.get("fit") == kept.event.fit


def _raised(strength: Strength, evidence: Evidence) -> Strength:
    """Never by two steps, and a run that learned is not blamed."""
    if strength == Strength.POSSIBLE:
        training = course(evidence)
        blamed = training is not None and training.learned is not True
        return Strength.SUPPORTED if blamed else strength
    return Strength.ESTABLISHED


def _fact(result: dict[str, Any], was: Tried, then: Tried) -> Fact:
    majority = result.get("majority")
    values = {
        "rows": result.get("rows"),
        "steps": then.numbers.get("steps") or 0,
        "majority": majority,
        "change": then.change,
        "changed": then.values,
        "was": _measure(was),
        "then": _measure(then),
    }
    as_it_was, corrected = was.learned(majority), then.learned(majority)
    if corrected and as_it_was is False:
        return Fact("experiment.learns", values, SOURCE)
    if corrected and then.wrong < _BETTER * was.wrong:
        return Fact("experiment.learns-better", values, SOURCE)
    if as_it_was:
        return Fact("experiment.learns-as-it-was", values, SOURCE)
    if corrected is False and as_it_was is False:
        return Fact("experiment.neither-learns", values, SOURCE)
    return Fact("experiment.open", values, SOURCE)


def _measure(one: Tried) -> dict[str, Any]:
    names = ("accuracy", "unexplained", "broken", "error", "first_loss", "last_loss")
    return {name: one.numbers[name] for name in names if one.numbers.get(name) is not None}


def offer(findings: Sequence[Finding], evidence: Evidence) -> Fact | None:
    """That an experiment could be made, where it would say something new."""
    kept = evidence.last(ev.ExperimentKept)
    about = subject(findings)
    if kept is None or kept.event.left_out or about is None or evidence.experiment is not None:
        return None
    if about.cause != findings[0].cause or not evidence.fits or kept.event.fit != evidence.fits[-1].number:
        return None
    return Fact("experiment.offered", {"run": str(evidence.path), "rows": kept.event.rows}, _OFFER)
