"""The first look at a process that was attached to."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from holdfast.supervise.attach.attached_run import AttachedRun
from holdfast.supervise.attach.target import find_target
from holdfast.supervise.stack_capture import pyspy

from .programs import DEADLOCK, running


def test_on_a_slow_machine_the_first_look_lasts_until_stacks_were_read_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = pyspy.dump_gently

    def slowly(pid: int) -> list[pyspy.PyThread]:
        time.sleep(5.0)
        return read(pid)

    monkeypatch.setattr(pyspy, "dump_gently", slowly)
    with running(DEADLOCK, tmp_path) as program:
        target = find_target(str(program.pid))
        run = AttachedRun(target, tmp_path / "r", stall_after_s=None, print_line=print)
        seen = run.first_look()
        run.leave()
    assert seen is not None and not seen.moves
    (stacks,) = (tmp_path / "r/stacks").iterdir()
    assert len(json.loads(stacks.read_text())["looks"]) >= 2
