"""`python -m tests.public_programs --sources DIR`: keras.io's scripts under `holdfast run`.

--sources: a checkout of keras-team/keras-io. The scripts are read there and copied, reduced, into a temporary folder.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path

from .page import write_page
from .reduced import ReductionError
from .scripts import SCRIPTS, Script
from .watched import Result, add_bare, marked, run


def main() -> int:
    asked = _arguments()
    chosen = [one for one in SCRIPTS if not asked.only or one.name in asked.only.split(",")]
    with tempfile.TemporaryDirectory(prefix="holdfast-public-") as scratch:
        folder = (asked.again or asked.keep or Path(scratch)).absolute()
        results = []
        for script in chosen:
            result = _one(script, asked, folder)
            if result is not None:
                results.append(result)
                print(_line(result), flush=True)
    counted = [one for one in results if not one.not_counted]
    wrong = [one for one in counted if one.wrong()]
    print(f"{len(counted)} of {len(results)} scripts ran to their end; wrong about {len(wrong)} of them")
    if asked.json:
        _store(asked.json, results)
    if asked.page:
        write_page(
            asked.page,
            json.loads(asked.json.read_text()) if asked.json else [one.row() for one in results],
        )
    return 1 if wrong else 0


def _one(script: Script, asked: argparse.Namespace, folder: Path) -> Result | None:
    at = folder / script.name
    if asked.add_bare:
        return add_bare(script, at, asked.limit_s) if (at / "about.json").exists() else None
    if asked.again:
        return marked(script, at, again=True) if (at / "about.json").exists() else None
    if asked.missing and (at / "about.json").exists():
        return None
    try:
        bare = asked.bare == "all" or (asked.bare == "some" and script.compared)
        return run(script, asked.sources, at, backend=asked.backend, limit_s=asked.limit_s, bare=bare)
    except (ReductionError, FileNotFoundError) as error:
        return Result(script.name, asked.backend, not_counted=f"the table does not fit the script: {error}")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.public_programs", description=__doc__)
    parser.add_argument("--sources", type=Path, help="a checkout of keras-team/keras-io")
    parser.add_argument("--only", default="", help="names from the table, with commas between them")
    parser.add_argument("--backend", default="", help="run every script on this backend instead of its own")
    parser.add_argument(
        "--json", type=Path, help="write the results here; those of other scripts in it are kept"
    )
    parser.add_argument("--keep", type=Path, help="leave the run folders here")
    parser.add_argument(
        "--missing", action="store_true", help="run only what --keep does not have yet; --again marks all"
    )
    parser.add_argument("--again", type=Path, help="run nothing: explain again what this folder has kept")
    parser.add_argument(
        "--bare",
        choices=("all", "some", "none"),
        default="some",
        help="which scripts also run without Holdfast",
    )
    parser.add_argument(
        "--add-bare", action="store_true", help="run only the bare copies of what --keep has, and compare"
    )
    parser.add_argument("--page", type=Path, help="write the table as a page")
    parser.add_argument(
        "--limit-s", type=float, default=300.0, help="seconds for one run (default: %(default)s)"
    )
    asked = parser.parse_args()
    if asked.sources is None and asked.again is None and not asked.add_bare:
        parser.error("--sources or --again is needed")
    return asked


def _store(path: Path, results: list[Result]) -> None:
    before = json.loads(path.read_text()) if path.exists() else []
    rows = {one["name"]: one for one in [*before, *(one.row() for one in results)]}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(list(rows.values()), indent=1) + "\n")


def _line(result: Result) -> str:
    if result.not_counted:
        why = f"{result.not_counted}; {result.said}"
        return f"-     {result.name:45} {result.backend:10} {result.seconds:4.0f} s  {why}"
    wrong = "; ".join(result.wrong())
    steps = f"{result.steps}/{result.true_steps} steps {result.epochs}/{result.true_epochs} epochs"
    said = wrong or ", ".join(result.said) or result.outcome
    return (
        f"{'WRONG' if wrong else 'right':5} {result.name:45} {result.backend:10} {steps} {result.seconds:4.0f} s  "
        f"losses {result.losses}; {said}"
    )


if __name__ == "__main__":
    sys.exit(main())
