"""`python -m tests.public_faults --sources DIR --half development`: run public faulty programs and print the table.

DIR has a clone of each repository, by its name, and `packages`, where `pip install --target` put scikit-learn, pandas,
matplotlib and seaborn. `make proof-public-faults` says how to fetch them.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from .judge import Mark, mark
from .programs import HALVES, Program, programs
from .runs import Outcome, explain, run
from .table import table
from .working_copy import runnable


def main() -> int:
    asked = _arguments()
    chosen = [one for half in asked.half for one in programs(half) if _chosen(one, asked)]
    if asked.write:
        return _write(chosen, asked.sources, asked.write)
    results: list[dict[str, Any]] = []
    for program in chosen:
        outcome = _again(program, asked.keep) if asked.again else _run(program, asked)
        results.append(_as_json(outcome, _mark(outcome, bare=asked.bare)))
        print(_line(results[-1]), flush=True)
        if asked.output and outcome.exit_code != 0:
            print("\n".join("    | " + line for line in outcome.output.splitlines()[-asked.output :]))
        if asked.json:  # after every program: an interrupted pass keeps what it has
            asked.json.write_text(json.dumps(results, indent=1))
    print("\n" + table(results))
    return 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.public_faults", description=__doc__)
    parser.add_argument("--sources", type=Path, required=True, help="the folder with the cloned repositories")
    parser.add_argument("--half", choices=HALVES, action="append", required=True, help="may be given twice")
    parser.add_argument("--only", type=lambda text: set(text.split(",")), help="ids, with commas")
    parser.add_argument("--kind", choices=("faulty", "healthy"))
    parser.add_argument("--json", type=Path, help="write the results here")
    parser.add_argument("--keep", type=Path, help="leave every run folder here")
    parser.add_argument("--again", action="store_true", help="run nothing: explain what --keep has kept")
    parser.add_argument("--bare", action="store_true", help="without Holdfast: see that each program runs")
    parser.add_argument(
        "--write", type=Path, help="run nothing: write the working copies here, one file each"
    )
    parser.add_argument("--limit", type=float, default=900.0, help="seconds for one program")
    parser.add_argument(
        "--output", type=int, default=0, metavar="N", help="show the last N lines of what failed"
    )
    asked = parser.parse_args()
    asked.sources = asked.sources.resolve()
    return asked


def _chosen(program: Program, asked: argparse.Namespace) -> bool:
    if asked.only and program.name not in asked.only:
        return False
    return asked.kind is None or (asked.kind == "healthy") == program.healthy


def _write(chosen: list[Program], sources: Path, folder: Path) -> int:
    folder.mkdir(parents=True, exist_ok=True)
    for program in chosen:
        name = program.name + ("-corrected" if program.corrected else "")
        (folder / f"{name}.py").write_text(runnable(program, sources))
    return 0


def _run(program: Program, asked: argparse.Namespace) -> Outcome:
    keep = asked.keep.resolve() if asked.keep else None
    return run(program, asked.sources, bare=asked.bare, keep=keep, limit_s=asked.limit)


def _again(program: Program, keep: Path) -> Outcome:
    outcome = Outcome(program, not_made=program.does_not_run)
    if not outcome.not_made:
        outcome.verdict = explain(keep / program.key / "run")
    return outcome


def _mark(outcome: Outcome, *, bare: bool) -> Mark:
    if outcome.not_made:
        return Mark("does not run", outcome.not_made)
    return Mark("bare", "") if bare else mark(outcome.program, outcome.verdict)


def _line(result: dict[str, Any]) -> str:
    return (
        f"{result['mark']:12} {result['program']:32} {result['class']:24} {result['said'][:90]}"
        f"  exit {result['exit_code']}  {result['wall_s']:.0f} s"
    )


def _as_json(outcome: Outcome, verdict: Mark) -> dict[str, Any]:
    program = outcome.program
    return {
        "program": program.label, "id": program.name, "repository": program.repository, "path": program.path,
        "healthy": program.healthy, "class": program.causes[0] if program.causes else "healthy",
        "causes": list(program.causes), "mark": verdict.word, "said": verdict.said, "exit_code": outcome.exit_code,
        "wall_s": round(outcome.wall_s, 1), "cpu_s": round(outcome.cpu_s, 1), "verdict": outcome.verdict,
        "output_tail": outcome.output[-1500:],
    }  # fmt: skip


if __name__ == "__main__":
    sys.exit(main())
