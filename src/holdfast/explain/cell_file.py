"""A notebook gives each cell a temporary file whose name helps nobody: a verdict says "cell"."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from enum import Enum
from typing import Any

from holdfast.explain.evidence import Evidence
from holdfast.explain.finding import Verdict
from holdfast.journal import events as ev


def with_cell_named(verdict: Verdict, evidence: Evidence) -> Verdict:
    read = evidence.last(ev.ScriptRead)
    if read is None or not read.event.file:
        return verdict
    named: Verdict = _named(verdict, read.event.file)
    return named


def _named(value: Any, file: str) -> Any:
    if isinstance(value, Enum):
        return value
    if isinstance(value, str):
        return value.replace(file, "cell")
    if isinstance(value, Mapping):
        return {key: _named(one, file) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(_named(one, file) for one in value)
    if is_dataclass(value) and not isinstance(value, type):
        return replace(value, **{one.name: _named(getattr(value, one.name), file) for one in fields(value)})
    return value
