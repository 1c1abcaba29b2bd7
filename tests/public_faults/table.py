"""Results as a table: one row for each class of faults, and the totals."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

from .judge import BLAMING, FAULTY, HEALTHY


def table(results: Iterable[Mapping[str, Any]]) -> str:
    faulty: dict[str, Counter[str]] = defaultdict(Counter)
    healthy: Counter[str] = Counter()
    not_run: list[str] = []
    raised = 0
    for one in results:
        if one["mark"] == "does not run":
            not_run.append(f"does not run: {one['program']}: {one['said']}")
        elif one["healthy"]:
            healthy[one["mark"]] += 1
        else:
            faulty[one["class"]][one["mark"]] += 1
            raised += one["mark"] == "named" and _only_raised(one)
    note = f"of those named, {raised} only by the exception that today's Keras raises for the fault (script-error)"
    return "\n".join([*_rows(faulty), "", note, _healthy(healthy), *not_run])


def _only_raised(result: Mapping[str, Any]) -> bool:
    """Another class of fault, and nothing but `script-error` names it: Keras found it, the verdict repeats it."""
    said = {
        one["cause"]
        for one in (result.get("verdict") or {}).get("findings", [])
        if one["strength"] in BLAMING
    }
    return result["class"] != "script-error" and said & set(result["causes"]) == {"script-error"}


def _rows(faulty: Mapping[str, Counter[str]]) -> list[str]:
    head = f"{'class':26}" + "".join(f"{word:>10}" for word in (*FAULTY, "all"))
    every = sum(faulty.values(), Counter[str]())
    ordered = sorted(faulty.items(), key=lambda item: (-item[1].total(), item[0]))
    return [head, *(_row(name, words) for name, words in ordered), _row("all", every)]


def _row(name: str, words: Counter[str]) -> str:
    return f"{name:26}" + "".join(f"{words[word]:>10}" for word in FAULTY) + f"{words.total():>10}"


def _healthy(words: Counter[str]) -> str:
    said = ", ".join(f"{words[word]} {word}" for word in HEALTHY)
    return f"healthy and corrected programs: {words.total()}: {said}"
