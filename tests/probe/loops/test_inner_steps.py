"""Loops on the replicas of tf.distribute, many steps a call."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.journal.events import ExitStarted, LossSeen, ProbeFailed

from ..probed import SCRIPTS, Run, new_context, recorded, run


class OnDevice:
    """A scalar in the memory of a GPU: whoever reads it waits for it."""

    device = "/job:localhost/replica:0/task:0/device:GPU:0"
    shape = ()
    dtype = "float32"

    def __init__(self, value: float) -> None:
        self.value = value
        self.reads = 0

    def __float__(self) -> float:
        self.reads += 1
        return self.value


def test_a_loss_on_a_device_is_read_by_the_background_thread(tmp_path: Path) -> None:
    context = new_context(tmp_path / "run")
    losses = [OnDevice(3.5), OnDevice(2.5)]
    try:
        for loss in losses:
            assert context.loop.function_logs(None, {"Loss/total_loss": loss}) == {}
        assert [loss.reads for loss in losses] == [0, 0]
        context.loop.read_late_losses(0.0)
    finally:
        context.background.stop()
    assert losses[0].reads == 0
    (seen,) = recorded(context, LossSeen)
    assert seen.logs == {"loss": 2.5}


@pytest.fixture(scope="module")
def on_replicas(tmp_path_factory: pytest.TempPathFactory) -> Run:
    ran = run(
        SCRIPTS / "loop_on_replicas.py", folder=tmp_path_factory.mktemp("replicas") / "run", cwd=SCRIPTS
    )
    assert ran.code == 0, ran.output
    return ran


@pytest.mark.hot
def test_steps_are_those_that_the_optimizer_counts(on_replicas: Run) -> None:
    """Three calls of ten steps, four of one, and a call that fails after its fourth."""
    counted = [
        int(line.split()[1]) for line in on_replicas.output.splitlines() if line.startswith("iterations")
    ]
    assert counted == [30, 34, 38]
    assert on_replicas.one(ExitStarted).steps == 38
    assert not on_replicas.all(ProbeFailed)


@pytest.mark.hot
def test_the_total_is_the_loss(on_replicas: Run) -> None:
    losses = on_replicas.all(LossSeen)
    assert losses[0].step == 10
    assert losses[0].logs["loss"] == pytest.approx(2 * losses[0].logs["Loss/part_loss"])
