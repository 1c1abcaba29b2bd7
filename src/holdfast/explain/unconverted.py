"""Temporary: records for causes that still build sentences themselves. It goes with the last of them.

Same names and arguments as before facts became data; what they make has the kind "text".
"""

from __future__ import annotations

import re
from typing import cast

from holdfast.explain import finding, remedies
from holdfast.explain.evidence import Evidence
from holdfast.explain.finding import Safety, Strength, Title
from holdfast.explain.readings import arrays, error, memory, numerics

__all__ = ["Fact", "Finding", "Remedy", "RuledOut", "Strength"]


class Fact(finding.Fact):
    __slots__ = ()

    def __init__(self, fact: str, source: str = "") -> None:
        super().__init__("text", {"text": fact}, source)

    @property
    def fact(self) -> str:
        return str(self.values["text"])


class Remedy(finding.Remedy):
    __slots__ = ()

    def __init__(self, do: str, safety: Safety = "your-choice", code: str = "") -> None:
        super().__init__("text", {"text": do, "code": code}, safety)


class RuledOut(finding.RuledOut):
    __slots__ = ()

    def __init__(self, cause: str, why: str, source: str = "") -> None:
        super().__init__("text", {"text": why}, source, cause)


class Finding(finding.Finding):
    __slots__ = ()

    def __init__(
        self,
        cause: str,
        strength: Strength,
        title: str | Title,
        because: tuple[finding.Fact, ...] = (),
        against: tuple[finding.Fact, ...] = (),
        remedies: tuple[finding.Remedy, ...] = (),
        led_to: str | None = None,
        ends: bool = True,
        normal: bool = False,
    ) -> None:
        said = Title("text", {"text": title}) if isinstance(title, str) else title
        super().__init__(strength, said, because, against, remedies, led_to, ends, normal, cause)


# -- readings in their old shapes ---------------------------------------------------------------------


def matched(evidence: Evidence, pattern: str, *, flags: int = 0) -> tuple[re.Match[str], Fact] | None:
    return _pair(error.ErrorText(pattern, flags).match(evidence))


def gpu_refused(evidence: Evidence) -> tuple[re.Match[str], Fact] | None:
    return _pair(memory.gpu_refused(evidence))


def refused_memory(evidence: Evidence) -> tuple[re.Match[str], Fact] | None:
    return _pair(memory.refused_memory(evidence))


def full_disk(evidence: Evidence) -> tuple[re.Match[str], Fact] | None:
    return _pair(error.full_disk(evidence))


def _pair(quote: error.Quote | None) -> tuple[re.Match[str], Fact] | None:
    return (quote.match, Fact(quote.text, quote.source)) if quote is not None else None


def users_line(evidence: Evidence) -> tuple[Fact, ...]:
    return cast("tuple[Fact, ...]", error.user_line(evidence))


def lost_process(evidence: Evidence) -> Fact | None:
    return cast("Fact | None", error.lost_process(evidence))


def at_the_end(evidence: Evidence) -> tuple[Fact, ...]:
    return cast("tuple[Fact, ...]", memory.at_the_end(evidence))


def grew(evidence: Evidence) -> Fact:
    return cast("Fact", memory.grew(evidence))


def outlier(evidence: Evidence) -> Fact | None:
    return cast("Fact | None", numerics.outlier(evidence))


def unlike_pieces(evidence: Evidence) -> tuple[arrays.Shape, arrays.Shape, Fact] | None:
    return cast("tuple[arrays.Shape, arrays.Shape, Fact] | None", arrays.unlike_shapes(evidence))


def going_on(evidence: Evidence, *, first: str = "") -> Remedy | None:
    before = {"": None, "raise it, then ": remedies.Before.RAISE_LIMIT}.get(first, remedies.Before.MAKE_ROOM)
    return cast("Remedy | None", remedies.resume(evidence, before=before))
