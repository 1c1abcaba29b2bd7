"""What may not be read is not taken for what is not there, and a neighbour that may not be read hurts nobody."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from holdfast.explain import explain
from holdfast.journal import events as ev
from tests.explain.made import Run

NOBODY = 65534


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody who may not read")
def test_an_unreadable_neighbour_leaves_the_verdict_as_it_is(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    run.probe(ev.ExceptionRaised(type="KeyError", message="'x'", left="script", user_line="train.py:3"))
    run.ended(1)
    (tmp_path / "other").mkdir(mode=0o000)
    for folder in (tmp_path, run.path, *tmp_path.parents[:-2]):
        folder.chmod(0o755)
    for file in run.path.iterdir():
        file.chmod(0o755)
    assert explain(run.path).findings[0].cause == "script-error", "as root, and everything is imported"
    os.seteuid(NOBODY)
    try:
        with pytest.raises(PermissionError):
            (tmp_path / "other" / "journal.jsonl").exists()
        verdict = explain(run.path)
    finally:
        os.seteuid(0)
    assert verdict.findings[0].cause == "script-error"
