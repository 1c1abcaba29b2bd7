"""A machine that restarted."""

from __future__ import annotations

import os
from pathlib import Path

from holdfast.journal import events as ev
from tests.explain.made import Run, remedies


def example(run: Run) -> None:
    run.supervisor(
        ev.RunOpened(command=["python", "train.py"], host=os.uname().nodename, boot_id="an-earlier-boot")
    )
    run.fit()


def near_miss(run: Run) -> None:
    """The folder was copied here from another machine."""
    run.fit()


def test_another_machine_of_the_same_name_speaks_against_it(tmp_path: Path) -> None:
    run = Run(tmp_path / "run", host=os.uname().nodename)
    example(run)
    assert [fact.kind for fact in run.first().against] == ["boot.other-host"]
    assert remedies(run.first()) == ["run.start-if-it-resumes", "boot.find-out-why"]
