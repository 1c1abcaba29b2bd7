"""What scripts do that have neither `fit` nor Keras, or that go on after their data or their workers are gone."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.journal.events import (
    BatchSeen,
    EmptyPassSeen,
    ExhaustedIteratorUsed,
    ExitStarted,
    LossSeen,
    NonFiniteSeen,
    ProbeFailed,
    WorkerCrashed,
    WorkerGone,
)

from .probed import SCRIPTS, Run, line, run

pytestmark = pytest.mark.hot


def test_steps_on_jax_alone_are_counted_and_gradients_that_train_nothing_are_not(tmp_path: Path) -> None:
    bare = run(SCRIPTS / "jax_alone.py", folder=tmp_path / "none", cwd=SCRIPTS, probe=False)
    told = run(SCRIPTS / "jax_alone.py", folder=tmp_path / "run", cwd=SCRIPTS)
    assert told.code == 0, told.output
    assert told.output.split()[-1] == bare.output.split()[-1]
    assert told.all(ProbeFailed) == []
    assert told.one(ExitStarted).steps == 20
    losses = [event.logs["loss"] for event in told.all(LossSeen)]
    assert len(losses) == 20
    assert losses == sorted(losses, reverse=True)
    assert losses[-1] == pytest.approx(float(told.output.split()[-1]), rel=1e-5)


def test_a_jitted_function_is_itself_in_everything_that_a_script_asks_of_it(tmp_path: Path) -> None:
    bare = run(SCRIPTS / "jitted.py", folder=tmp_path / "none", cwd=SCRIPTS, probe=False, JAX_PLATFORMS="cpu")
    told = run(SCRIPTS / "jitted.py", folder=tmp_path / "run", cwd=SCRIPTS, JAX_PLATFORMS="cpu")
    assert bare.code == 0, bare.output
    assert told.output.splitlines() == bare.output.splitlines()
    assert told.all(ProbeFailed) == []
    assert told.one(ExitStarted).steps == 5


def test_a_parent_tells_how_its_workers_ended(tmp_path: Path) -> None:
    told = run(SCRIPTS / "workers_end.py", folder=tmp_path / "run", cwd=SCRIPTS)
    assert told.code == 0, told.output
    _, killed, crashed, left, _ = [int(word) for word in told.output.split()[-5:]]
    gone = {event.worker_pid: event.last_state for event in told.all(WorkerGone)}
    assert gone == {killed: "SIGKILL", crashed: "SIGSEGV", left: "exit code 3"}
    place = line("workers_end.py", "signal.SIGSEGV")
    assert told.one(WorkerCrashed) == WorkerCrashed(
        worker_pid=crashed, what="Segmentation fault", where=f"{place} in work"
    )


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
