"""`fit` inside the scope of a strategy, whose variables have no handle outside of a replica."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.journal.events import ExitStarted, LossSeen, ProbeFailed

from ..probed import SCRIPTS, run

pytestmark = pytest.mark.hot


def test_all_parts_of_the_probe_work_and_steps_are_counted(tmp_path: Path) -> None:
    ran = run(SCRIPTS / "fit_in_scope.py", folder=tmp_path / "run", cwd=SCRIPTS)
    assert ran.code == 0, ran.output
    assert ran.all(ProbeFailed) == []
    assert ran.one(ExitStarted).steps == 16
    assert ran.all(LossSeen)
