"""Loops on the replicas of tf.distribute, many steps a call."""

from __future__ import annotations

import pytest

from holdfast.journal.events import ExitStarted, LossSeen, ProbeFailed

from ..probed import SCRIPTS, Run, run

pytestmark = pytest.mark.hot


@pytest.fixture(scope="module")
def on_replicas(tmp_path_factory: pytest.TempPathFactory) -> Run:
    ran = run(
        SCRIPTS / "loop_on_replicas.py", folder=tmp_path_factory.mktemp("replicas") / "run", cwd=SCRIPTS
    )
    assert ran.code == 0, ran.output
    return ran


def test_steps_are_those_that_the_optimizer_counts(on_replicas: Run) -> None:
    """Three calls of ten steps, four of one, and a call that fails after its fourth."""
    counted = [
        int(line.split()[1]) for line in on_replicas.output.splitlines() if line.startswith("iterations")
    ]
    assert counted == [30, 34, 38]
    assert on_replicas.one(ExitStarted).steps == 38
    assert not on_replicas.all(ProbeFailed)


def test_the_total_is_the_loss(on_replicas: Run) -> None:
    losses = on_replicas.all(LossSeen)
    assert losses[0].step == 10
    assert losses[0].logs["loss"] == pytest.approx(2 * losses[0].logs["Loss/part_loss"])
