"""Draw programs from a seed, run each once, ask for the verdict, and print the score."""

from __future__ import annotations

import argparse
import dataclasses
import json
import re
from pathlib import Path

from . import draw, runner, score


def main() -> int:
    options = _options()
    only = [name for name in options.faults.split(",") if name]
    programs = draw.draw(options.seed, options.count, options.kind, only)
    if options.out:
        for program in programs:
            runner.write(program, options.out / program.name)
    if options.generate_only:
        return 0
    scores = []
    for program in programs:
        outcome = runner.run(program, keep=options.keep, bare=options.bare)
        if options.bare:
            _print_bare(outcome)
            continue
        scores.append(_score(outcome))
        print(score.line(scores[-1]), flush=True)
        if options.json:
            options.json.write_text(json.dumps([dataclasses.asdict(one) for one in scores], indent=1) + "\n")
    if scores:
        print(score.tables(scores))
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.generated", description=__doc__)
    parser.add_argument(
        "--seed", type=int, required=True, help="1000 to 1999 for development, 9000 and up for a score"
    )
    parser.add_argument("--count", type=int, default=30)
    parser.add_argument("--kind", choices=["faulty", "healthy", "both"], default="both")
    parser.add_argument("--faults", default="", help="names of faults, with commas: only these")
    parser.add_argument("--out", type=Path, help="write the programs here")
    parser.add_argument("--keep", type=Path, help="keep work and run folders here")
    parser.add_argument("--json", type=Path, help="write the scores here")
    parser.add_argument("--generate-only", action="store_true")
    parser.add_argument(
        "--bare", action="store_true", help="run without Holdfast and print how each program ended"
    )
    return parser.parse_args()


def _score(outcome: runner.Outcome) -> score.Score:
    program = outcome.program
    mark, said, strength = score.mark(program, outcome.verdict)
    if any(note.startswith("not made") for note in outcome.notes):
        mark = "not made"
    elif outcome.too_slow and mark not in ("right", "weaker"):
        mark = "missed" if program.fault else "not made"  # we ended it: the verdict is about us
    return score.Score(
        program.name, program.base, program.fault, program.expected, mark, said, strength, program.file,
        round(outcome.seconds, 1), outcome.exit_code, "; ".join(outcome.notes),
    )  # fmt: skip


def _print_bare(outcome: runner.Outcome) -> None:
    """How it ended, and the losses that it printed."""
    text = re.sub(r"[^\n]*\x08", "", outcome.output)
    losses = re.findall(r"(?<!val_)loss:? (?:\()?([-\d.e+]+|nan|inf)", text)
    some = losses if len(losses) < 10 else [*losses[:4], "..", *losses[-4:]]
    program = outcome.program
    what = f"{program.name} {program.fault or 'healthy'} {program.base}"
    how = f"exit {outcome.exit_code} {outcome.seconds:.0f} s {' '.join(some)} {'; '.join(outcome.notes)}"
    print(what, how, flush=True)
    last = [line for line in text.splitlines() if line.strip()][-2:]
    print("    " + "\n    ".join(line[:220] for line in last), flush=True)


if __name__ == "__main__":
    raise SystemExit(main())
