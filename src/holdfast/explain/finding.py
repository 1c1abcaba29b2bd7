"""What an explanation is made of: facts, findings, what was ruled out, and the verdict around them.

All of it is data: a kind and its values. `holdfast.report.wording` makes the sentences.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

if TYPE_CHECKING:
    from holdfast.explain.compare.last_good import LastGood

Safety = Literal["automatic", "your-choice", "guess"]
#: What a kind is filled with: everything in it can be written as JSON. An enum in it is a `StrEnum`.
Values: TypeAlias = Mapping[str, Any]


class Strength(enum.IntEnum):
    """How sure a finding is. Only the upper two blame anybody."""

    POSSIBLE = 1  # fits, and so do other readings
    SUPPORTED = 2  # fits better than anything else that was looked for
    ESTABLISHED = 3  # the evidence leaves no other reading

    @classmethod
    def established_if(cls, certain: object) -> Strength:
        """Established or supported: what most rules decide last."""
        return cls.ESTABLISHED if certain else cls.SUPPORTED

    @classmethod
    def supported_if(cls, likely: object) -> Strength:
        return cls.SUPPORTED if likely else cls.POSSIBLE

    @property
    def word(self) -> str:
        return self.name.lower()


class Outcome(enum.StrEnum):
    """How a run ended, or that it did not, whatever the cause."""

    FINISHED = "finished"  # by itself, with all its planned steps
    STOPPED_EARLY = "stopped-early"  # by itself, with fewer
    FAILED = "failed"  # an exception, an exit code, a crash
    KILLED = "killed"  # a signal from outside, or the kernel
    STALLED = "stalled"  # it stood still, and was ended for it or still does
    RUNNING = "running"
    ENDED = "ended"  # only its parent knows how: it was attached to, and not started here


@dataclass(frozen=True, slots=True)
class Fact:
    kind: str  # "memory.grew": the subject, then what was seen of it
    values: Values = field(default_factory=dict)
    source: str = ""  # "journal.jsonl:41", "exit status": where a person can open it


def facts(*parts: Fact | Iterable[Fact] | Literal[False] | None) -> list[Fact]:
    """Those that there are, in this order: a rule lists what it may have seen; what it has not is None or False."""
    listed = [(part,) if isinstance(part, Fact) else part or () for part in parts]
    return [fact for part in listed for fact in part]


@dataclass(frozen=True, slots=True)
class Title:
    """The finding in one sentence: the kind is the cause's slug, with ".variant" where there are several."""

    kind: str
    values: Values = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Remedy:
    kind: str  # "disk.make-room": the subject, then what to do
    values: Values = field(default_factory=dict)
    safety: Safety = "your-choice"
    program: str = ""  # keras | torch | jax | recipe: whose code is shown; filled in from the evidence


@dataclass(frozen=True, slots=True)
class Finding:
    strength: Strength
    title: Title
    because: Sequence[Fact] = ()
    remedies: Sequence[Remedy] = ()
    _: KW_ONLY
    against: Sequence[Fact] = ()
    led_to: str | None = None
    ends: bool = True  # it says why the run ended or does not move; False: what spoiled or slowed it
    normal: bool = False  # what was asked for, and no fault: EarlyStopping at work
    cause: str = ""  # filled in from the declaration


@dataclass(frozen=True, slots=True)
class RuledOut:
    """A cause that was looked for, with what speaks against it."""

    kind: str
    values: Values = field(default_factory=dict)
    source: str = ""
    cause: str = ""  # filled in from the declaration


@dataclass(frozen=True, slots=True)
class Verdict:
    run: str
    outcome: Outcome
    step: int | None
    of: int | None
    summary: tuple[Fact, ...]  # how it ended and how far it got, whatever the cause: one line
    findings: tuple[Finding, ...] = ()
    ruled_out: tuple[RuledOut, ...] = ()
    known: tuple[Fact, ...] = ()  # of the run apart from causes: earlier attempts, missing records
    warned: tuple[Fact, ...] = ()  # by the framework, and it speaks against the result
    changes: LastGood | None = None  # since the last good run of this script
    extra: dict[str, Any] = field(default_factory=dict)

    @property
    def went_well(self) -> bool:
        """It did what it was asked, and nothing blames it."""
        if self.outcome not in (Outcome.FINISHED, Outcome.STOPPED_EARLY, Outcome.RUNNING):
            return False
        blaming = [one for one in self.findings if one.strength >= Strength.SUPPORTED and not one.normal]
        asked_for = self.outcome == Outcome.FINISHED or any(one.normal for one in self.findings[:1])
        return not blaming and (asked_for or self.outcome == Outcome.RUNNING)
