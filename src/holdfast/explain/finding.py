"""What an explanation is made of: facts, findings, what was ruled out, and the verdict around them."""

from __future__ import annotations

import enum
from dataclasses import dataclass, field
from typing import Any, Literal

Safety = Literal["automatic", "your-choice", "guess"]


class Strength(enum.IntEnum):
    """How sure a finding is. Only the upper two blame anybody."""

    POSSIBLE = 1  # fits, and so do other readings
    SUPPORTED = 2  # fits better than anything else that was looked for
    ESTABLISHED = 3  # the evidence leaves no other reading

    @property
    def word(self) -> str:
        return self.name.lower()


@dataclass(frozen=True, slots=True)
class Fact:
    fact: str
    source: str = ""  # "journal.jsonl:41", "exit status": where a person can open it


@dataclass(frozen=True, slots=True)
class Remedy:
    do: str
    safety: Safety = "your-choice"
    code: str = ""  # a few lines that can be pasted


@dataclass(frozen=True, slots=True)
class Finding:
    cause: str
    strength: Strength
    title: str
    because: tuple[Fact, ...] = ()
    against: tuple[Fact, ...] = ()
    remedies: tuple[Remedy, ...] = ()
    led_to: str | None = None
    ends: bool = True  # it says why the run ended or stands; False: it says what spoiled or slowed it
    normal: bool = False  # what was asked for, and no fault: EarlyStopping at work

    def as_json(self) -> dict[str, Any]:
        return {
            "cause": self.cause,
            "strength": self.strength.word,
            "title": self.title,
            "because": [{"fact": one.fact, "source": one.source} for one in self.because],
            "against": [{"fact": one.fact, "source": one.source} for one in self.against],
            "remedies": [_remedy(one) for one in self.remedies],
            "led_to": self.led_to,
            "normal": self.normal,
            "more": f"holdfast causes {self.cause}",
        }


def _remedy(remedy: Remedy) -> dict[str, str]:
    plain = {"do": remedy.do, "safety": remedy.safety}
    return {**plain, "code": remedy.code} if remedy.code else plain


@dataclass(frozen=True, slots=True)
class RuledOut:
    """A cause that was looked for, with what speaks against it."""

    cause: str
    why: str
    source: str = ""

    def as_json(self) -> dict[str, str]:
        return {"cause": self.cause, "why": self.why, "source": self.source}


@dataclass(frozen=True, slots=True)
class Verdict:
    run: str
    outcome: str
    step: int | None
    of: int | None
    summary: str  # one line: how it ended, whatever the cause
    findings: tuple[Finding, ...] = ()
    ruled_out: tuple[RuledOut, ...] = ()
    known: tuple[
        Fact, ...
    ] = ()  # what is known of the run apart from causes: earlier attempts, missing records
    warned: tuple[Fact, ...] = ()  # by the framework, and it speaks against the result
    changes: tuple[str, ...] = ()  # since the last good run of this script
    extra: dict[str, Any] = field(default_factory=dict)

    @property
    def went_well(self) -> bool:
        """It did what it was asked, and nothing blames it."""
        if self.outcome not in ("finished", "stopped-early", "running"):
            return False
        blaming = [one for one in self.findings if one.strength >= Strength.SUPPORTED and not one.normal]
        asked_for = self.outcome == "finished" or any(one.normal for one in self.findings[:1])
        return not blaming and (asked_for or self.outcome == "running")

    def as_json(self) -> dict[str, Any]:
        return {
            "run": self.run,
            "outcome": self.outcome,
            "step": self.step,
            "of": self.of,
            "summary": self.summary,
            "findings": [one.as_json() for one in self.findings],
            "ruled_out": [one.as_json() for one in self.ruled_out],
            "known": [{"fact": one.fact, "source": one.source} for one in self.known],
            "warned": [{"fact": one.fact, "source": one.source} for one in self.warned],
            "since_last_good": list(self.changes),
            **self.extra,
        }
