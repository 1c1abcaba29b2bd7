"""Loops of people's own whose data ends, or is broken."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.journal.events import (
    BatchSeen,
    DataOnlyLoopSeen,
    DatasetSeen,
    EmptyPassSeen,
    ExhaustedIteratorUsed,
    ExitStarted,
    NonFiniteSeen,
)

from ..probed import SCRIPTS, Run, line, run

pytestmark = pytest.mark.hot


@pytest.fixture(scope="module")
def without_data(tmp_path_factory: pytest.TempPathFactory) -> Run:
    told = run(SCRIPTS / "loop_without_data.py", folder=tmp_path_factory.mktemp("data") / "run", cwd=SCRIPTS)
    assert told.code == 0, told.output
    return told


def test_a_loop_tells_of_passes_without_data_and_of_an_iterator_at_its_end(without_data: Run) -> None:
    told = without_data
    where = line("loop_without_data.py", "for _batch in")
    assert told.all(EmptyPassSeen) == [
        EmptyPassSeen(passes=1, where=where),
        EmptyPassSeen(passes=2, where=where),
    ]
    where = line("loop_without_data.py", "next(iterator, None)")
    assert told.all(ExhaustedIteratorUsed) == [ExhaustedIteratorUsed(times=1, where=where)]
    assert told.one(ExitStarted).steps == 3 + 10


def test_a_loop_that_broke_tells_what_is_wrong_with_the_batch_in_its_hands(without_data: Run) -> None:
    broke = without_data.all(NonFiniteSeen)[0]
    batch = without_data.all(BatchSeen)[-1]
    assert (broke.what, broke.step, batch.step) == ("loss", 3 + 9, 3 + 9)
    assert batch.parts[0]["boxes"] == {
        "inverted": 1, "zero_area": 0, "not_finite": 0, "rows": [1], "first": [50.0, 10.0, 10.0, 60.0],
    }  # fmt: skip


def test_loops_without_a_step_that_only_their_data_ends(tmp_path: Path) -> None:
    told = run(SCRIPTS / "loop_endless_validation.py", folder=tmp_path / "run", cwd=SCRIPTS)
    assert told.code == 0, told.output
    assert told.all(DataOnlyLoopSeen) == [
        DataOnlyLoopSeen(where=line("loop_endless_validation.py", mark), role="validation")
        for mark in ("# a function", "# eager")
    ]
    seen = [(one.role, one.cardinality) for one in told.all(DatasetSeen)]
    endless = [(role, -1) for role in ("validation", "validation", "train", "validation")]
    assert seen == [("train", 4), *endless]
