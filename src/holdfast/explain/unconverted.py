"""Temporary: records for causes that still build sentences themselves. It goes with the last of them.

Same names and arguments as before facts became data; what they make has the kind "text".
"""

from __future__ import annotations

from holdfast.explain import finding
from holdfast.explain.finding import Safety, Strength, Title

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
