"""Steps on JAX alone, and functions of `jax.jit` that are observed."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.journal.events import ExitStarted, LossSeen, ProbeFailed

from ..probed import SCRIPTS, run

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
