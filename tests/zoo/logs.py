"""`python -m tests.zoo.logs KEPT`: what `holdfast explain FILE` makes of the outputs of the zoo, as a table.

KEPT is what `python -m tests.zoo --keep` left. Only output.log of each run is read: many causes leave no word in it.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from holdfast.explain import Finding, Strength, Verdict, explain_log
from holdfast.explain.rank import GENERAL

from .runs import folder_name
from .trials import Trial, all_trials

_HEAD = """| cause | faulty: named / more general / not visible / all | near misses: not blamed / all |
|---|---:|---:|
"""


class Marked(NamedTuple):
    trial: Trial
    word: str  # named | general | not visible | quiet | wrong | false alarm
    said: str
    established: bool


def explained(kept: Path) -> Iterator[Marked]:
    for trial in all_trials():
        log = kept / folder_name(trial) / "output.log"
        if log.exists() and log.read_bytes().strip():
            yield mark(trial, explain_log(log, now=log.stat().st_mtime + 3600, ask_machine=False))


def mark(trial: Trial, verdict: Verdict) -> Marked:
    blaming = [one for one in verdict.findings if one.strength >= Strength.SUPPORTED and not one.normal]
    first = verdict.findings[0] if verdict.findings else None
    said = f"{first.cause} ({first.strength.word})" if first is not None else "-"
    established = any(one.strength == Strength.ESTABLISHED for one in verdict.findings)
    return Marked(trial, _word(trial, first, blaming), said, established)


def _word(trial: Trial, first: Finding | None, blaming: list[Finding]) -> str:
    if trial.kind == "near" and any(one.cause == trial.not_blamed for one in blaming):
        return "false alarm"
    if not trial.causes:
        return "false alarm" if blaming else "quiet"
    if first is not None and first.cause in trial.causes:
        return "named"
    if not blaming:
        return "not visible"
    special = GENERAL.get(blaming[0].cause, frozenset())
    led = blaming[0].cause == trial.leads_to
    return "general" if led or special & set(trial.causes) else "wrong"


def table(marked: list[Marked]) -> str:
    faulty: dict[str, Counter[str]] = defaultdict(Counter)
    near: dict[str, Counter[bool]] = defaultdict(Counter)
    for one in marked:
        if one.trial.kind == "faulty":
            faulty[one.trial.causes[0]][one.word] += 1
        elif one.trial.kind == "near":
            near[one.trial.not_blamed][one.word != "false alarm"] += 1
    rows = [
        f"| {cause} | {_shares(faulty[cause])} | {_share(near[cause])} |"
        for cause in sorted({*faulty, *near})
    ]
    every, all_near = sum(faulty.values(), Counter()), sum(near.values(), Counter())
    healthy = [one for one in marked if one.trial.kind == "healthy"]
    quiet = sum(one.word == "quiet" for one in healthy)
    return (
        _HEAD + "\n".join([*rows, f"| **all** | {_shares(every)} | {_share(all_near)} |"]) + "\n\n"
        f"Healthy programs blamed: {len(healthy) - quiet} of {len(healthy)}. "
        f"Wrong and supported: {every['wrong']} of {len(marked)}. "
        f"Established: {sum(one.established for one in marked)}.\n"
    )  # fmt: skip


def _shares(words: Counter[str]) -> str:
    if not words:
        return "–"
    return f"{words['named']} / {words['general']} / {words['not visible']} / {words.total()}"


def _share(marks: Counter[bool]) -> str:
    return f"{marks[True]} / {marks.total()}" if marks.total() else "–"


def write_into(page: Path, text: str) -> None:
    """Between the marks of the page."""
    before, _, rest = page.read_text().partition("<!-- table -->\n")
    page.write_text(f"{before}<!-- table -->\n{text}<!-- /table -->" + rest.partition("<!-- /table -->")[2])


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.zoo.logs", description=__doc__)
    parser.add_argument("kept", type=Path)
    parser.add_argument("--page", type=Path, help="write the table into this page, between its marks")
    parser.add_argument("--all", action="store_true", help="list every run")
    asked = parser.parse_args()
    results = list(explained(asked.kept))
    bad = [one for one in results if one.word in ("wrong", "false alarm") or one.established]
    for one in results if asked.all else bad:
        print(f"{one.word:12} {one.trial.name:52} {one.said}", file=sys.stderr)
    if asked.page:
        write_into(asked.page, table(results))
    else:
        sys.stdout.write(table(results))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
