"""`python -m tests.attach [NAME…]`: attach to every stalling program of the zoo, and print a table."""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from pathlib import Path

from tests.zoo.trials import Trial

from . import trials


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.attach", description=__doc__)
    parser.add_argument("names", nargs="*", help="only programs whose name contains one of these")
    parser.add_argument("--jobs", type=int, default=4, help="programs at a time (default: 4)")
    parser.add_argument("--settle", type=float, default=65.0, help="seconds it has hung when attached to")
    parser.add_argument("--limit", type=float, default=150.0, help="attach after this time whatever it does")
    parser.add_argument("--healthy", action="store_true", help="healthy programs and near misses instead")
    parser.add_argument(
        "--first", type=float, default=25.0, help="seconds before a healthy one is attached to"
    )
    parser.add_argument("--most", type=int, default=4, help="how often a healthy one is attached to")
    parser.add_argument("--keep", type=Path, help="a folder to leave the run folders in")
    args = parser.parse_args()
    programs = trials.healthy() if args.healthy else trials.stalling()
    wanted = [trial for trial in programs if not args.names or any(name in trial.name for name in args.names)]

    def attach_to(trial: Trial) -> trials.Answer:
        if args.healthy:
            return trials.attach_to_healthy(trial, first_after_s=args.first, most=args.most, keep=args.keep)
        return trials.attach(trial, settle_s=args.settle, limit_s=args.limit, keep=args.keep)

    answers = trials.attach_all(wanted, attach_to, jobs=args.jobs)
    print("\n".join(trials.line(answer) for answer in answers))
    print(dict(Counter(answer.word for answer in answers)))
    return int(
        any(answer.word in ("wrong", "alarm", "no answer") or not answer.unharmed for answer in answers)
    )


if __name__ == "__main__":
    sys.exit(main())
