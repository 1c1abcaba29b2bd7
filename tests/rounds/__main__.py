"""`python -m tests.rounds CASES --keep RUNS`: programs that strangers wrote, each run once.

A case is a folder with the program and `case.json`: {"kind": "faulty" | "healthy", "cause": "slug",
"also_right": [slugs], "why": "…", "argv": ["train.py", …], "setup": "bash, before", "limit_s": 90, "stalls": false,
"memory_mib": null, "signal": {"after_s": 20, "name": "SIGKILL"}, "exclusive": false,
"companion": ["other.py"]}. The score is that of docs/truth.md.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from tests.announced import announced

from .case import Case, run
from .score import Mark, mark


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.rounds", description=__doc__)
    parser.add_argument("cases", type=Path, help="folder; every folder below it with a case.json is a case")
    parser.add_argument("--keep", type=Path, required=True, help="folder for the runs and verdicts")
    parser.add_argument("--python", default=sys.executable, help="the interpreter of the programs")
    parser.add_argument(
        "--jobs", type=int, default=1, help="programs at once; those that are exclusive come after"
    )
    parser.add_argument("--only", default="", help="cases whose path contains this")
    parser.add_argument(
        "--again", action="store_true", help="explain the kept runs again, without running anything"
    )
    options = parser.parse_args()
    cases = [Case.read(file.parent, options.cases) for file in sorted(options.cases.rglob("case.json"))]
    cases = [case for case in cases if options.only in case.name]
    marks: list[tuple[Case, Mark]] = []

    def take(case: Case) -> None:
        kept = options.keep / case.name
        if options.again and not kept.exists():
            return
        verdict = case.explained(kept) if options.again else _first_verdict(case, kept, options.python)
        marks.append((case, mark(case, verdict, announced(kept / "run"))))
        print(f"{marks[-1][1].word:12} {case.name:40} {marks[-1][1].text}", flush=True)

    with ThreadPoolExecutor(options.jobs) as pool:
        list(pool.map(take, [case for case in cases if not case.exclusive or options.jobs == 1]))
    for case in cases:
        if case.exclusive and options.jobs > 1:
            take(case)
    for kind in ("faulty", "healthy"):
        words = Counter(one.word for case, one in marks if case.kind == kind)
        print(
            f"{kind}: {sum(words.values())}, " + ", ".join(f"{n} {word}" for word, n in words.most_common())
        )
    return 0


def _first_verdict(case: Case, kept: Path, python: str) -> Any:
    if (kept / "verdict.json").exists():
        print(f"{case.name}: has run already (once is the rule)", flush=True)
    else:
        shutil.rmtree(kept, ignore_errors=True)
        run(case, kept, python)
    return json.loads((kept / "verdict.json").read_text())


if __name__ == "__main__":
    raise SystemExit(main())
