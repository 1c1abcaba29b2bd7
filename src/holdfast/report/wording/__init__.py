"""All sentences of an explanation: a kind and its values in, text out. One table for each group of causes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import ModuleType
from typing import Any

from holdfast.explain.finding import Fact, Remedy, RuledOut, Title
from holdfast.report.wording import (
    control_wording,
    data_wording,
    device_wording,
    environment_wording,
    experiment_wording,
    learning_wording,
    memory_wording,
    numerics_wording,
    other_frameworks,
    processes_wording,
    run_wording,
    shared_wording,
    steps_wording,
    storage_wording,
    weights_wording,
)
from holdfast.report.wording.advice import Advice
from holdfast.report.wording.template import Text, filled

#: The modules with the tables FACTS, TITLES, REMEDIES and RULED_OUT.
TABLES: tuple[ModuleType, ...] = (
    run_wording,
    shared_wording,
    memory_wording,
    device_wording,
    data_wording,
    steps_wording,
    control_wording,
    numerics_wording,
    learning_wording,
    weights_wording,
    experiment_wording,
    storage_wording,
    processes_wording,
    environment_wording,
)


#: How a sentence begins whose words are missing.
UNWORDED = "(no wording) "


def _all(name: str) -> dict[str, Any]:
    return {kind: text for module in TABLES for kind, text in getattr(module, name, {}).items()}


FACTS: dict[str, Text] = _all("FACTS")
TITLES: dict[str, Text] = _all("TITLES")
REMEDIES: dict[str, Advice] = _all("REMEDIES")
RULED_OUT: dict[str, Text] = _all("RULED_OUT")


def sentence(fact: Fact) -> str:
    return _said(FACTS, fact.kind, fact.values)


def summary(parts: Sequence[Fact]) -> str:
    """One line: how a run ended and how far it got."""
    return ", ".join(sentence(part) for part in parts)


def title(headline: Title) -> str:
    return _said(TITLES, headline.kind, headline.values)


def why_not(ruled_out: RuledOut) -> str:
    return _said(RULED_OUT, ruled_out.kind, ruled_out.values)


def advice(remedy: Remedy) -> tuple[str, str]:
    """What to do, and a few lines that can be pasted, or ""."""
    try:
        found = REMEDIES[remedy.kind]
        code = other_frameworks.code_for(remedy.kind, remedy.program, found.code)
        return filled(found.do, remedy.values), filled(code, remedy.values)
    except Exception:
        return _unworded(remedy.kind, remedy.values), ""


def _said(table: Mapping[str, Text], kind: str, values: Mapping[str, Any]) -> str:
    try:
        return filled(table[kind], values)
    except Exception:
        return _unworded(kind, values)


def _unworded(kind: str, values: Mapping[str, Any]) -> str:
    """A slip in one sentence must not cost the whole answer. The tests look for these."""
    return f"{UNWORDED}{kind}: " + ", ".join(f"{name} {value}" for name, value in values.items())
