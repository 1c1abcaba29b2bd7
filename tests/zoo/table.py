"""`python -m tests.zoo.table RESULTS.json > docs/verdicts.md`: verdicts of a whole pass, cause by cause.

RESULTS.json is what `python -m tests.zoo --json` writes.
"""

from __future__ import annotations

import json
import sys
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from .judge import BLAMING, GOOD

_HEAD = """# Verdicts on the test programs

Every faulty program of `tests/` runs under the real supervisor, with variants and with near misses: programs that look
like it and must not be blamed. Healthy programs must not be blamed for anything. `python -m tests.zoo --all --json
results.json` runs them; `python -m tests.zoo.table results.json` writes this page.

| cause | faulty: named / all | near misses: not blamed / all | healthy programs blamed |
|---|---:|---:|---:|
"""


def table(results: Sequence[Mapping[str, Any]]) -> str:
    made = [one for one in results if not one["not_made"]]
    faulty: dict[str, Counter[bool]] = defaultdict(Counter)
    near: dict[str, Counter[bool]] = defaultdict(Counter)
    for one in made:
        if one["kind"] == "faulty":
            faulty[one["expected"][0]][one["mark"] in GOOD] += 1
        elif one["kind"] == "near":
            near[one["not_blamed"]][one["mark"] in GOOD] += 1
    healthy = [one for one in made if one["kind"] == "healthy"]
    blamed = Counter(cause for one in healthy for cause in set(_blamed(one)))
    rows = [
        f"| {cause} | {_share(faulty[cause])} | {_share(near[cause])} | {blamed[cause]} |"
        for cause in sorted({*faulty, *near, *blamed})
    ]
    quiet = sum(one["mark"] in GOOD for one in healthy)
    total = (
        f"| **all** | {_share(sum(faulty.values(), Counter()))} | {_share(sum(near.values(), Counter()))} | "
        f"{len(healthy) - quiet} of {len(healthy)} |"
    )
    wrong = sum(bool(one["established_and_wrong"]) for one in made)
    return _HEAD + "\n".join([*rows, total]) + f"\n\nEstablished and wrong: {wrong} of {len(made)}.\n"


def _share(marks: Counter[bool]) -> str:
    return f"{marks[True]} / {marks.total()}" if marks.total() else "–"


def _blamed(result: Mapping[str, Any]) -> list[str]:
    findings = (result["verdict"] or {}).get("findings", [])
    return [one["cause"] for one in findings if one["strength"] in BLAMING and not one.get("normal")]


if __name__ == "__main__":
    sys.stdout.write(table(json.loads(Path(sys.argv[1]).read_text())))
