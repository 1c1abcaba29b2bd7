"""`holdfast compare OLD NEW`: what changed between two runs, and the effect of each change."""

from __future__ import annotations

import argparse
from pathlib import Path

from holdfast.cli.damaged_run import reading_run
from holdfast.cli.verdicts import compare_runs


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("old", metavar="OLD", type=Path, help="the folder of the earlier run")
    parser.add_argument("new", metavar="NEW", type=Path, help="the folder of the later run")
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run(args: argparse.Namespace) -> int:
    import json
    import sys

    from holdfast.report.comparison import as_json, render
    from holdfast.report.text import terminal_width

    with reading_run(Path(f"{args.old} or {args.new}")):
        comparison = compare_runs(args.old, args.new)
        if args.json:
            text = json.dumps(as_json(comparison), indent=1, ensure_ascii=False) + "\n"
        else:
            text = render(comparison, terminal_width(sys.stdout))
    sys.stdout.write(text)
    return 0
