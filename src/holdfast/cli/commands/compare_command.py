"""`holdfast compare OLD NEW`: what changed between two runs, and the effect of each change."""

from __future__ import annotations

import argparse
from pathlib import Path

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

    comparison = compare_runs(args.old, args.new)
    if args.json:
        print(json.dumps(as_json(comparison), indent=1, ensure_ascii=False))
        return 0
    sys.stdout.write(render(comparison, terminal_width(sys.stdout)))
    return 0
