"""`python -m tests.object_detection_api --models DIR --data DIR`: run the table and mark each verdict.

--models: a checkout of tensorflow/models with its protocol buffers compiled. --data: a folder with train.record, in the
API's layout, and label_map.pbtxt. --python: an interpreter that has the API's packages.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from .cases import CASES
from .inputs import TEMPLATE, Data
from .watched import Result, Setup, again, run


def main() -> int:
    asked = _arguments()
    chosen = [
        case for case in CASES if not asked.names or any(case.name.startswith(name) for name in asked.names)
    ]
    with tempfile.TemporaryDirectory(prefix="holdfast-odapi-") as scratch:
        folder = (asked.keep or Path(scratch)).absolute()
        setup = Setup(
            asked.models.absolute(), asked.python, Data.below(asked.data.absolute()), folder, asked.limit_s
        )
        results = []
        for case in chosen:
            result = again(case, setup) if asked.again else run(case, setup)
            if result is not None:
                results.append(result)
                print(_line(result), flush=True)
    good = sum(not result.wrong for result in results)
    print(f"{good} of {len(results)} as expected")
    return 0 if good == len(results) else 1


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.object_detection_api", description=__doc__)
    parser.add_argument("names", nargs="*", help="only cases whose name begins with one of these")
    parser.add_argument("--models", type=Path, required=True, help="a checkout of tensorflow/models")
    parser.add_argument(
        "--data", type=Path, required=True, help="a folder with train.record and label_map.pbtxt"
    )
    parser.add_argument(
        "--python", default=sys.executable, help="the interpreter that has the API's packages"
    )
    parser.add_argument("--keep", type=Path, help="leave every run's folder here")
    parser.add_argument(
        "--again", action="store_true", help="run nothing: explain again what --keep has kept"
    )
    parser.add_argument(
        "--limit-s", type=float, default=1800.0, help="seconds that a case may take (default: %(default)s)"
    )
    asked = parser.parse_args()
    if not (asked.models / TEMPLATE).is_file():
        parser.error(f"{asked.models} has no {TEMPLATE}")
    return asked


def _line(result: Result) -> str:
    expected = result.case.true_steps
    steps = f"{result.steps}/{'?' if expected is None else expected}"
    return (
        f"{'WRONG' if result.wrong else 'right':5} {result.case.name:28} {steps:>9} steps {result.seconds:5.0f} s  "
        f"{result.verdict}{'; ' + result.wrong if result.wrong else ''}"
    )


if __name__ == "__main__":
    sys.exit(main())
