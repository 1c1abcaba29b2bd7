"""Explain a run and print the verdict, and compare two runs: shared by several commands."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from holdfast import atomic_write
from holdfast.stderr import print_line
from holdfast.supervise.scheduler import pod

if TYPE_CHECKING:
    from holdfast.explain.compare.differences import Comparison
    from holdfast.journal.folder import RunFolder
    from holdfast.launch.group import GroupResult


#: Seconds after which an explanation is given up: files on a mount whose server is gone can take for ever.
EXPLAIN_LIMIT_S = 300.0


def explain_and_print(folder: RunFolder, *, recorded: bool = True, limit_s: float = EXPLAIN_LIMIT_S) -> None:
    """The verdict on standard error and in verdict.json. Nothing that goes wrong here changes the command's exit code:
    a Ctrl-C ends the explanation, and so does the limit. Without a record of the end there is no verdict: the folder
    would look like that of a run that was killed."""
    from holdfast.host.threads import BackgroundCall

    if not recorded:
        print_line(f"holdfast: no verdict: {folder.journal} could not be written, and does not have the end")
        return
    try:
        call = BackgroundCall(lambda: _explain_and_print(folder))
        if not call.wait(limit_s):
            print_line(
                f"holdfast: could not explain the run within {limit_s:g} s: holdfast explain {folder.path}"
            )
        elif call.error is not None:
            print_line(f"holdfast: could not explain the run: {type(call.error).__name__}: {call.error}")
    except KeyboardInterrupt:
        print_line(f"holdfast: interrupted before the verdict: holdfast explain {folder.path}")


def _explain_and_print(folder: RunFolder) -> None:
    try:
        from holdfast.explain import explain
        from holdfast.report.text import terminal_width, wants_colour
        from holdfast.report.verdict import render
        from holdfast.report.verdict_json import as_json

        verdict = explain(folder.path)
        print_line("\n" + render(verdict, terminal_width(sys.stderr), wants_colour(sys.stderr)).rstrip("\n"))
        found = as_json(verdict)
        text = json.dumps(found, indent=1, ensure_ascii=False)
        pod.write_message(f"{found['summary']}\nrun folder: {folder.path}", os.environ)
    except Exception as error:
        print_line(f"holdfast: could not explain the run: {type(error).__name__}: {error}")
        return
    try:
        atomic_write.write_text(folder.verdict, text + "\n", errors="backslashreplace", private=True)
    except OSError as error:
        print_line(f"holdfast: could not write verdict.json: {error}")


def print_group_end(outcome: GroupResult, folder: RunFolder) -> None:
    """How a group ended, and the verdict."""
    attempts = f" after {outcome.attempts} attempts" if outcome.attempts > 1 else ""
    print_line(
        f"holdfast: the group ended with exit code {outcome.exit_code}{attempts}; run folder {folder.path}"
    )
    explain_and_print(folder)


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
