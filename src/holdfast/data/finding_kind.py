"""What is said of one kind of finding."""

from __future__ import annotations

from typing import NamedTuple


class FindingKind(NamedTuple):
    severity: str
    title: str
    remedy: str


REPAIR = "`holdfast data repair SRC DST` writes a copy"
