"""What was at hand in a worker process when its exception left it."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.journal.events import AtHandSeen, ExceptionRaised, ProbeFailed

from ..probed import SCRIPTS, run

pytestmark = pytest.mark.hot


@pytest.mark.parametrize(("how", "method"), [("pool", "fork"), ("futures", "spawn")])
def test_the_file_that_a_worker_could_not_read_is_known(tmp_path: Path, how: str, method: str) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    told = run(SCRIPTS / "worker_reads.py", how, method, folder=tmp_path / "run", cwd=folder)
    assert told.code == 1 and "BadZipFile" in told.output
    assert told.all(ProbeFailed) == []
    file = told.all(AtHandSeen)[0].files[0]  # the main process may know it by the line that names it
    assert (file["path"], file["bytes"]) == ("part_1.npz", 900)
    assert file["missing"] == "the directory at the end of the archive is missing"
    assert [one.type for one in told.all(ExceptionRaised) if one.left == "script"] == ["BadZipFile"]
