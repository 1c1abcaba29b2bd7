"""The loss of a loop that only a metric of Keras is given."""

from __future__ import annotations

import ast
from pathlib import Path

import numpy as np
import pytest

from holdfast.journal.events import LossSeen, ProbeFailed
from tests.probe.probed import SCRIPTS, run

pytestmark = pytest.mark.hot


@pytest.mark.parametrize("order", ["first", "last"])
def test_the_loss_of_a_step_is_read_from_the_metric_that_is_given_what_is_differentiated(
    tmp_path: Path, order: str
) -> None:
    script = SCRIPTS / "loop_metric.py"
    watched = run(script, tmp_path / "watched.npy", order, folder=tmp_path / "run", cwd=SCRIPTS)
    bare = run(script, tmp_path / "bare.npy", order, folder=tmp_path / "none", cwd=SCRIPTS, probe=False)
    assert (watched.code, bare.code) == (0, 0), watched.output
    assert np.load(tmp_path / "watched.npy").tobytes() == np.load(tmp_path / "bare.npy").tobytes()
    assert not watched.all(ProbeFailed)
    seen = watched.all(LossSeen)
    assert [one.step for one in seen] == list(range(1, 17))
    losses = [one.logs["loss"] for one in seen]
    printed = ast.literal_eval(watched.output.strip().splitlines()[-1])
    assert np.mean(losses[:8]) == pytest.approx(printed[0], rel=1e-5)
    assert np.mean(losses[8:]) == pytest.approx(printed[1], rel=1e-4)
