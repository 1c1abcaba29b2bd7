"""Worker processes that end otherwise than they should."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.journal.events import WorkerCrashed, WorkerGone

from ..probed import SCRIPTS, line, run

pytestmark = pytest.mark.hot


def test_a_parent_tells_how_its_workers_ended(tmp_path: Path) -> None:
    told = run(SCRIPTS / "workers_end.py", folder=tmp_path / "run", cwd=SCRIPTS)
    assert told.code == 0, told.output
    well, killed, crashed, left, _ = [int(word) for word in told.output.split()[-5:]]
    gone = {event.worker_pid: event.last_state for event in told.all(WorkerGone)}
    assert gone == {well: "exit code 0", killed: "SIGKILL", crashed: "SIGSEGV", left: "exit code 3"}
    place = line("workers_end.py", "signal.SIGSEGV")
    assert told.one(WorkerCrashed) == WorkerCrashed(
        worker_pid=crashed, what="Segmentation fault", where=f"{place} in work"
    )
