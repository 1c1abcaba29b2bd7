"""The real supervisor over commands that nothing inside reports of: other languages, isolated interpreters."""

from __future__ import annotations

import sys
from pathlib import Path

from holdfast.journal import vitals
from holdfast.journal.events import ProgressPrinted, Stalled, WarningSeen
from holdfast.journal.folder import RunFolder

from .running import events, only, run

ISOLATED = ["--", sys.executable, "-I", "-S", "-c"]


def test_the_position_is_what_it_prints(tmp_path: Path) -> None:
    code = (
        "import os, time\n"
        "for step in range(1, 4): print(f'step {step}/3 loss {1 / step:.2f}', flush=True)\n"
        "sampled = lambda: os.path.exists('r/vitals.jsonl') and '\"of\"' in open('r/vitals.jsonl').read()\n"
        "while not sampled(): time.sleep(0.05)\n"
        "print('WARNING:tensorflow:Your input ran out of data; interrupting training.')"
    )
    done = run("--run-dir", "r", *ISOLATED, code, cwd=tmp_path)
    assert "  steps    step 3 of 3 (as printed)\n" in done.stderr
    found = [event for event in events(tmp_path / "r") if isinstance(event, ProgressPrinted)]
    assert (found[-1].step, found[-1].of, found[-1].loss) == (3, 3, 0.33)
    assert "ran out of data" in only(tmp_path / "r", WarningSeen).text  # type: ignore[attr-defined]
    printed = [sample.printed for _, sample in vitals.read(RunFolder(tmp_path / "r").vitals)]
    assert any(one.get("of") == 3 for one in printed)


def test_a_shell_script_that_waits_without_a_time_limit_is_stalled(tmp_path: Path) -> None:
    script = "mkfifo f; echo 'step 7/50 loss 0.5'; cat f; true"
    run("--run-dir", "r", "--on-stall", "stop", "--", "sh", "-c", script, cwd=tmp_path)
    stall = only(tmp_path / "r", Stalled)
    assert isinstance(stall, Stalled)
    assert stall.limit_from == "every thread waits without a time limit"
    assert stall.progress["waits"] == "open-ended"
    assert stall.progress["printed"] == "step 7 of 50"
