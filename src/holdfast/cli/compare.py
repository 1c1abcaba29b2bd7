"""`holdfast compare OLD NEW`: what changed between two runs, and what each change accounts for."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from holdfast.explain.compare.differences import Comparison

HELP = "what changed between two runs, and how much memory and time each change accounts for"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("old", metavar="OLD", type=Path, help="the folder of the earlier run")
    parser.add_argument("new", metavar="NEW", type=Path, help="the folder of the later run")
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run(args: argparse.Namespace) -> int:
    import json
    import sys

    comparison = compared(args.old, args.new)
    from holdfast.report.comparison import as_json, render

    if args.json:
        print(json.dumps(as_json(comparison), indent=1, ensure_ascii=False))
        return 0
    from holdfast.report.text import terminal_width

    sys.stdout.write(render(comparison, terminal_width(sys.stdout)))
    return 0


def compared(old: Path, new: Path) -> Comparison:
    """Two runs' folders: what each was made of, and how it ended."""
    import time
    from dataclasses import replace

    from holdfast.explain.compare.differences import compare, ended
    from holdfast.explain.compare.portrait import portray
    from holdfast.explain.gather import gather, sources
    from holdfast.explain.judge import judge

    now = time.time()
    evidence = [gather(path, now=now) for path in (old, new)]
    before, after = (portray(one, sources(one.path)) for one in evidence)
    return replace(compare(before, after), endings=(ended(judge(evidence[0])), ended(judge(evidence[1]))))
