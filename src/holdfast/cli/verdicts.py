"""Explain a run and print the verdict, and compare two runs: shared by several commands."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from holdfast.stderr import print_line

if TYPE_CHECKING:
    from holdfast.explain.compare.differences import Comparison
    from holdfast.journal.folder import RunFolder


def explain_and_print(folder: RunFolder) -> None:
    """The verdict on standard error and in verdict.json. A failure here never changes the command's exit code."""
    try:
        from holdfast.explain import explain
        from holdfast.report.text import terminal_width, wants_colour
        from holdfast.report.verdict import render
        from holdfast.report.verdict_json import as_json

        verdict = explain(folder.path)
        print_line("\n" + render(verdict, terminal_width(sys.stderr), wants_colour(sys.stderr)).rstrip("\n"))
        text = json.dumps(as_json(verdict), indent=1, ensure_ascii=False)
    except Exception as error:
        print_line(f"holdfast: could not explain the run: {type(error).__name__}: {error}")
        return
    try:
        folder.verdict.write_text(text + "\n")
    except OSError as error:
        print_line(f"holdfast: could not write verdict.json: {error}")


def compare_runs(old: Path, new: Path) -> Comparison:
    """What differs between two run folders, and how each run ended."""
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
