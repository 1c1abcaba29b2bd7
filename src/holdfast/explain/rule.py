"""What a rule is written with: its declaration, and the names that nearly every rule uses.

A rule is one function in one file of `causes/<group>`. Its decorator says the cause's slug and how the cause relates
to others; the folder is its group.
"""

from __future__ import annotations

import enum
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeAlias

from holdfast.explain.evidence import Evidence
from holdfast.explain.finding import Fact, Finding, Remedy, RuledOut, Strength, Title, facts
from holdfast.explain.readings.recorded import Recorded
from holdfast.journal import events as ev
from holdfast.journal.beats import Phase

__all__ = [
    "Cause",
    "Evidence",
    "Fact",
    "Finding",
    "Group",
    "Phase",
    "Recorded",
    "Remedy",
    "RuledOut",
    "Strength",
    "Title",
    "cause",
    "ev",
    "facts",
]

Rule: TypeAlias = Callable[[Evidence], Finding | RuledOut | None]

_PAGES = Path(__file__).parent / "pages"


class Group(enum.StrEnum):
    """Where a cause is at home; the name of its folder, and its heading in `holdfast causes`."""

    MEMORY = "memory of the host"
    DEVICE = "a GPU and its memory"
    DATA = "supply and content of the data"
    STEPS = "counting of steps and epochs"
    CONTROL = "control flow"
    NUMERICS = "numerics"
    LEARNING = "model, loss and labels"
    WEIGHTS = "weights, units and gradients"
    STORAGE = "storage"
    PROCESSES = "processes and threads"
    ENVIRONMENT = "environment, several machines"


@dataclass(frozen=True, slots=True)
class Cause:
    slug: str
    judge: Rule
    #: More general causes that say the same less exactly; they are dropped when this one is found.
    specialises: tuple[str, ...] = ()
    #: What happened, as against why: the verdict only when no cause behind it is more than possible.
    mechanism: bool = False
    #: It says that the run broke off; what only spoiled the run's course does not replace it.
    breaks: bool = False

    def look(self, evidence: Evidence) -> Finding | RuledOut | None:
        """What the rule says, under the name of this cause."""
        found = self.judge(evidence)
        return replace(found, cause=self.slug) if found is not None and not found.cause else found

    @property
    def group(self) -> Group:
        """By the folder of its rule."""
        return Group[self.judge.__module__.split(".")[-2].upper()]

    @property
    def brief(self) -> str:
        """One line: what it is."""
        return (sys.modules[self.judge.__module__].__doc__ or "").strip()

    @property
    def page(self) -> str:
        """The long text, in Markdown."""
        return (_PAGES / f"{self.slug}.md").read_text(encoding="utf-8")


def cause(
    slug: str, *, specialises: tuple[str, ...] = (), mechanism: bool = False, breaks: bool = False
) -> Callable[[Rule], Cause]:
    """Makes a `Cause` of the function below it."""

    def declared(rule: Rule) -> Cause:
        return Cause(slug, rule, specialises, mechanism, breaks)

    return declared
