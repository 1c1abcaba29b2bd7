"""`python -m tests.compatibility`: the same programs in every environment, bare and under Holdfast.

Results are written to tests/compatibility/results, one file for each environment; `--page` writes docs/compatibility.md
from them.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

from tests.zoo.runs import Outcome, explain_again, run
from tests.zoo.trials import Trial, read_header, trials_of

from .environments import ENVIRONMENTS, Environment, build, python_of, versions
from .page import page
from .scores import digest, score

HERE = Path(__file__).resolve().parent
RESULTS = HERE / "results"
_HANGS_AFTER_S = 60.0
PAGE = HERE.parents[1] / "docs" / "compatibility.md"


def main() -> int:
    asked = _arguments()
    bad = 0
    for environment in (
        one for one in ENVIRONMENTS if not asked.environment or one.name in asked.environment
    ):
        problem = build(environment)
        if problem:
            print(f"{environment.name}: not built: {problem}", flush=True)
            continue
        if not asked.build:
            bad += _try(environment, asked)
    if asked.page:
        PAGE.write_text(page(_stored("first"), _latest()))
    return 1 if bad else 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.compatibility", description=__doc__)
    parser.add_argument("names", nargs="*", help="only programs whose name begins with one of these")
    parser.add_argument("--environment", action="append", help="only these (default: all)")
    parser.add_argument("--build", action="store_true", help="build the environments and run nothing")
    parser.add_argument(
        "--bare", action="store_true", help="without Holdfast: see that each is faulty as meant"
    )
    parser.add_argument(
        "--again", action="store_true", help="run nothing: explain again what --keep has kept"
    )
    parser.add_argument("--keep", type=Path, help="leave every run folder below this folder")
    parser.add_argument("--first", action="store_true", help="record the results as the first try")
    parser.add_argument("--page", action="store_true", help="write docs/compatibility.md from all results")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--output", type=int, default=0, metavar="N", help="show the last N lines of each")
    return parser.parse_args()


def programs(environment: Environment) -> list[Trial]:
    prefix = "keras_" if environment.programs == "keras" else ""
    found = []
    for kind in ("faulty", "healthy"):
        for path in sorted((HERE / "programs" / f"{prefix}{kind}").glob("*.py")):
            if read_header(path.read_text()).get("needs") == "estimator" and not environment.estimator:
                continue
            found += [_with(trial, environment) for trial in trials_of(path)]
    return found


def _with(trial: Trial, environment: Environment) -> Trial:
    quiet = {"TF_CPP_MIN_LOG_LEVEL": "2"}
    return replace(trial, environment={**quiet, **environment.variables, **trial.environment})


def _try(environment: Environment, asked: argparse.Namespace) -> int:
    trials = [
        one for one in programs(environment)
        if not asked.names or any(one.name.startswith(name) for name in asked.names)
    ]  # fmt: skip
    bad = 0
    for result in _results(environment, trials, asked):
        good = result["mark"] in ("right", "quiet", "bare")
        bad += not good
        weights = "" if result["weights_equal"] is None else f" weights equal: {result['weights_equal']}"
        print(
            f"{environment.name:16} {result['mark']:8} {result['program']:34} {result['said']:44}"
            f" exit {result['exit_code']!s:5} {result['seconds']:5.0f} s{weights} {result['note']}",
            flush=True,
        )
        if asked.output and (asked.bare or not good):
            print("\n".join("    | " + line for line in result["output"].splitlines()[-asked.output :]))
        if not asked.bare:
            _store("first" if asked.first else "last", environment, result)
    return bad


def _results(
    environment: Environment, trials: list[Trial], asked: argparse.Namespace
) -> Iterator[dict[str, Any]]:
    python = str(python_of(environment))
    keep = asked.keep / environment.name if asked.keep else None
    if keep:
        keep.mkdir(parents=True, exist_ok=True)

    def one(trial: Trial) -> dict[str, Any]:
        if asked.bare:  # what hangs would hang as long as it may
            trial = replace(trial, limit_s=min(trial.limit_s, _HANGS_AFTER_S))
        watched = run(trial, bare=asked.bare, keep=keep, python=python)
        equal = None
        if trial.kind == "healthy" and not asked.bare:
            alone = digest(run(trial, bare=True, python=python).output)
            equal = bool(alone) and digest(watched.output) == alone
        return _result(trial, watched, equal, bare=asked.bare)

    if asked.again:
        again = ((trial, explain_again(trial, keep)) for trial in trials if keep)
        yield from (_result(trial, outcome, None, bare=False) for trial, outcome in again if outcome)
        return
    with ThreadPoolExecutor(asked.jobs) as pool:
        yield from pool.map(one, trials)


def _result(trial: Trial, outcome: Outcome, equal: bool | None, *, bare: bool) -> dict[str, Any]:
    mark, said = ("bare", "") if bare else score(trial, outcome.verdict)
    if outcome.too_slow and not bare:
        mark, said = ("wrong" if trial.causes else "blamed"), "no verdict before the time limit"
    return {
        "program": trial.name, "kind": trial.kind, "expected": list(trial.causes), "mark": mark, "said": said,
        "exit_code": outcome.exit_code, "seconds": round(outcome.seconds, 1), "weights_equal": equal,
        "note": "; ".join([*outcome.notes, *filter(None, [outcome.not_made])]), "not_made": bool(outcome.not_made),
        "output": outcome.output,
    }  # fmt: skip


def _store(which: str, environment: Environment, result: dict[str, Any]) -> None:
    """A first try is recorded once; later runs of a program replace its last result."""
    file = RESULTS / which / f"{environment.name}.json"
    stored = (
        json.loads(file.read_text()) if file.exists() else {"versions": versions(environment), "programs": {}}
    )
    kept = {
        key: result[key]
        for key in ("kind", "expected", "mark", "said", "exit_code", "weights_equal", "not_made")
    }
    before = stored["programs"].get(result["program"])
    if which == "first" and before:
        return
    if before and kept["weights_equal"] is None:
        kept["weights_equal"] = before["weights_equal"]
    stored["programs"][result["program"]] = kept
    file.parent.mkdir(parents=True, exist_ok=True)
    new = file.with_suffix(".new")
    new.write_text(
        json.dumps({**stored, "programs": dict(sorted(stored["programs"].items()))}, indent=1) + "\n"
    )
    os.replace(new, file)


def _stored(which: str) -> dict[str, dict[str, Any]]:
    names = [one.name for one in ENVIRONMENTS if (RESULTS / which / f"{one.name}.json").exists()]
    return {name: json.loads((RESULTS / which / f"{name}.json").read_text()) for name in names}


def _latest() -> dict[str, dict[str, Any]]:
    """The last result of each program, which is its first where it ran once."""
    first, last = _stored("first"), _stored("last")
    names = [one.name for one in ENVIRONMENTS if one.name in first or one.name in last]
    return {
        name: {
            **kept[-1],
            "programs": {key: one for stored in kept for key, one in stored["programs"].items()},
        }
        for name in names
        for kept in [[which[name] for which in (first, last) if name in which]]
    }


if __name__ == "__main__":
    sys.exit(main())
