"""How a cause declares itself: its slug, its group and how it relates to other causes, next to its rule."""

from __future__ import annotations

import enum
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeAlias

from holdfast.explain.evidence import Evidence
from holdfast.explain.finding import Finding, RuledOut

Rule: TypeAlias = Callable[[Evidence], Finding | RuledOut | None]

_PAGES = Path(__file__).parent.parent / "pages"


class Group(enum.StrEnum):
    """Where a cause is at home; the name of its folder, and its heading in `holdfast causes`."""

    MEMORY = "memory of the host"
    DEVICE = "memory of a GPU"
    DATA = "supply and content of the data"
    STEPS = "counting of steps and epochs"
    CONTROL = "control flow"
    NUMERICS = "numerics"
    STORAGE = "storage"
    PROCESSES = "processes and threads"
    ENVIRONMENT = "environment, several machines"


@dataclass(frozen=True, slots=True)
class Cause:
    slug: str
    group: Group
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
    def brief(self) -> str:
        """One line: what it is."""
        return (sys.modules[self.judge.__module__].__doc__ or "").strip()

    @property
    def page(self) -> str:
        """The long text, in Markdown."""
        return (_PAGES / f"{self.slug}.md").read_text(encoding="utf-8")


def cause(
    slug: str,
    group: Group,
    *,
    specialises: tuple[str, ...] = (),
    mechanism: bool = False,
    breaks: bool = False,
) -> Callable[[Rule], Cause]:
    """Makes a `Cause` of the function below it."""

    def declared(rule: Rule) -> Cause:
        return Cause(slug, group, rule, specialises, mechanism, breaks)

    return declared
