"""`python -m tests.zoo`: run the zoo and print the table."""

from __future__ import annotations

import argparse
import json
import signal
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from .judge import GOOD, Mark, mark
from .runs import Outcome, explain_again, run
from .trials import Trial, all_trials


def main() -> int:
    # A shell's background job ignores the one and nohup the other, and so would the programs.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    asked = _arguments()
    trials = [trial for trial in all_trials() if _chosen(trial, asked)]
    if asked.list:
        print("\n".join(f"{one.kind:8} {one.name:60} {', '.join(one.causes) or 'healthy'}" for one in trials))
        return 0
    marked: list[tuple[Outcome, Mark]] = []
    for outcome in _run_all(trials, asked):
        verdict = _mark(outcome, bare=asked.bare)
        marked.append((outcome, verdict))
        print(_line(outcome, verdict), flush=True)
        if asked.output:
            print("\n".join("    | " + line for line in outcome.output.splitlines()[-asked.output :]))
    print(_summary(marked))
    if asked.json:
        asked.json.write_text(json.dumps([_as_json(*one) for one in marked], indent=1))
    bad = [one for one, verdict in marked if not one.not_made and verdict.word not in (*GOOD, "bare")]
    return 1 if bad else 0


def _mark(outcome: Outcome, *, bare: bool) -> Mark:
    if bare:
        return Mark("bare", f"exit {outcome.exit_code}")
    return (
        Mark("too slow", "") if outcome.too_slow else mark(outcome.trial, outcome.verdict, outcome.announced)
    )


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.zoo", description=__doc__)
    parser.add_argument("names", nargs="*", help="only trials whose name begins with one of these")
    parser.add_argument("--all", action="store_true", help="everything (the default without names)")
    parser.add_argument("--quick", action="store_true", help="only the quick ones")
    parser.add_argument("--kind", choices=("faulty", "near", "healthy"))
    parser.add_argument("--base", action="store_true", help="leave out variants and near misses by flag")
    parser.add_argument("--others", action="store_true", help="only what --base leaves out")
    parser.add_argument("--bare", action="store_true", help="without Holdfast: see that each is ill as meant")
    parser.add_argument("--renamed", action="store_true", help="every program under other names")
    parser.add_argument("--keep", type=Path, help="leave every run's folder here")
    parser.add_argument("--again", action="store_true", help="run nothing: explain anew what --keep has kept")
    parser.add_argument("--json", type=Path, help="write the results here")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--output", type=int, default=0, metavar="N", help="show the last N lines of each")
    parser.add_argument("--list", action="store_true")
    return parser.parse_args()


def _chosen(trial: Trial, asked: argparse.Namespace) -> bool:
    if asked.names and not any(trial.name.startswith(name) for name in asked.names):
        return False
    derived = trial.other or (trial.kind == "near" and bool(trial.environment))
    if (asked.base and derived) or (asked.others and not derived):
        return False
    return (not asked.quick or trial.quick) and asked.kind in (None, trial.kind)


def _run_all(trials: list[Trial], asked: argparse.Namespace) -> Iterator[Outcome]:
    if asked.again:
        yield from filter(None, (explain_again(trial, asked.keep) for trial in trials))
        return

    def one(numbered: tuple[int, Trial]) -> Outcome:
        seed = numbered[0] if asked.renamed or numbered[1].other else None
        return run(numbered[1], bare=asked.bare, keep=asked.keep, seed=seed)

    together = [(n, trial) for n, trial in enumerate(trials) if not trial.alone]
    with ThreadPoolExecutor(asked.jobs) as pool:
        yield from pool.map(one, together)
    yield from map(one, ((n, trial) for n, trial in enumerate(trials) if trial.alone))


def _line(outcome: Outcome, verdict: Mark) -> str:
    if outcome.not_made:
        return f"not made     {outcome.trial.name:52} {outcome.not_made}"
    detected = f"silent {outcome.detected_s:.0f} s" if outcome.detected_s is not None else ""
    explained = f"explain {outcome.explain_s * 1000:.0f} ms" if outcome.explain_s is not None else ""
    word = verdict.word + (" !" if verdict.fatal else "")
    notes = "; ".join(outcome.notes)
    return (
        f"{word:12} {outcome.trial.name:52} {verdict.said:44} exit {outcome.exit_code!s:5}"
        f" {outcome.seconds:5.0f} s  {detected} {explained} {notes}"
    ).rstrip()


def _summary(marked: Iterable[tuple[Outcome, Mark]]) -> str:
    rows = [
        (outcome.trial.kind, "not made" if outcome.not_made else verdict.word, verdict.fatal)
        for outcome, verdict in marked
    ]
    lines = []
    for kind in ("faulty", "near", "healthy"):
        words = Counter(word for of, word, _ in rows if of == kind)
        if words:
            lines.append(f"{kind:8} " + ", ".join(f"{count} {word}" for word, count in words.most_common()))
    lines.append(f"established and wrong: {sum(fatal for _, _, fatal in rows)}")
    return "\n" + "\n".join(lines)


def _as_json(outcome: Outcome, verdict: Mark) -> dict[str, object]:
    return {
        "trial": outcome.trial.name, "kind": outcome.trial.kind, "expected": list(outcome.trial.causes),
        "not_blamed": outcome.trial.not_blamed,
        "mark": verdict.word, "said": verdict.said, "established_and_wrong": verdict.fatal,
        "exit_code": outcome.exit_code, "seconds": round(outcome.seconds, 1), "explain_s": outcome.explain_s,
        "detected_s": outcome.detected_s, "notes": outcome.notes, "not_made": outcome.not_made,
        "verdict": outcome.verdict, "output_tail": outcome.output[-2000:],
    }  # fmt: skip


if __name__ == "__main__":
    sys.exit(main())
