"""`python -m tests.attach [NAME…]`: attach to every stalling program of the zoo, and print a table."""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from pathlib import Path

from . import trials


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.attach", description=__doc__)
    parser.add_argument("names", nargs="*", help="only programs whose name contains one of these")
    parser.add_argument("--jobs", type=int, default=4, help="programs at a time (default: 4)")
    parser.add_argument("--settle", type=float, default=65.0, help="seconds it has hung when attached to")
    parser.add_argument("--limit", type=float, default=150.0, help="attach after this time whatever it does")
    parser.add_argument("--keep", type=Path, help="a folder to leave the run folders in")
    args = parser.parse_args()
    wanted = [
        trial
        for trial in trials.stalling()
        if not args.names or any(name in trial.name for name in args.names)
    ]
    answers = trials.attach_all(
        wanted, jobs=args.jobs, settle_s=args.settle, limit_s=args.limit, keep=args.keep
    )
    print("\n".join(trials.line(answer) for answer in answers))
    print(dict(Counter(answer.word for answer in answers)))
    return int(any(answer.word in ("wrong", "no answer") or not answer.unharmed for answer in answers))


if __name__ == "__main__":
    sys.exit(main())
