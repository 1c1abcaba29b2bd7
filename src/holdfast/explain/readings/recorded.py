"""An event of the journal with its place and its times."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Generic, TypeVar, final

from holdfast.explain.finding import Fact
from holdfast.journal import events as ev

E = TypeVar("E", bound=ev.Event)


@final
@dataclass(frozen=True, slots=True)
class Recorded(Generic[E]):
    """An event with its place and its times."""

    event: E
    line: int
    at: float
    mono: float
    by: str = ""
    pid: int = 0
    attempt: int = 1
    file: str = "journal.jsonl"

    @property
    def source(self) -> str:
        return f"{self.file}:{self.line}"

    def fact(self, kind: str, **values: Any) -> Fact:
        """A fact that this event shows."""
        return Fact(kind, values, self.source)
