"""Steps on JAX alone, and functions of `jax.jit` that are observed."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from holdfast.journal.events import (
    ExitStarted,
    IndexOutOfRange,
    LossSeen,
    NonFiniteSeen,
    ProbeFailed,
    WeightsMoved,
)
from holdfast.probe.loops.jax_jit import JitSteps, _Unread

from ..probed import SCRIPTS, new_context, run

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


def test_a_gradient_that_breaks_the_weights_below_a_loss_that_is_a_number(tmp_path: Path) -> None:
    told = run(
        SCRIPTS / "jax_breaks.py", "gradient", folder=tmp_path / "run", cwd=SCRIPTS, JAX_PLATFORMS="cpu"
    )
    assert told.all(ProbeFailed) == []
    broken = told.one(NonFiniteSeen)
    assert (broken.what, broken.step, broken.weights_finite_before) == ("loss", 11, False)
    steps = [one for one in told.all(WeightsMoved) if one.since == "step"]
    assert [one.step for one in steps] == [4, 8]


def test_ids_beyond_the_classes(tmp_path: Path) -> None:
    told = run(SCRIPTS / "jax_breaks.py", "ids", folder=tmp_path / "run", cwd=SCRIPTS, JAX_PLATFORMS="cpu")
    assert told.all(ProbeFailed) == []
    seen = told.one(IndexOutOfRange)
    assert (seen.step, seen.low, seen.high, seen.size, seen.how, seen.table) == (1, 1, 3, 3, "fill", False)
    assert (told.one(NonFiniteSeen).step, told.one(NonFiniteSeen).weights_finite_before) == (1, None)


class _Loss:
    """A number that JAX has computed."""

    def __init__(self, value: float) -> None:
        self.value = value

    def is_ready(self) -> bool:
        return True

    def __float__(self) -> float:
        return self.value


def test_losses_that_are_read_late_and_out_of_order(tmp_path: Path) -> None:
    """The loss before the first that is not finite may have been read long before its elders."""
    context = new_context(tmp_path / "run")
    steps, told = JitSteps(context), []
    context.loop.late_loss = lambda step, loss, before=None: told.append((step, before))
    losses = [_Loss(1.0) for _ in range(41)] + [_Loss(math.nan) for _ in range(4)]
    unread = [_Unread(step, loss, [np.full(2, loss.value)]) for step, loss in enumerate(losses, 1)]
    for one in [*unread[:20], unread[40]]:
        steps._waiting.append(one)
        steps._not_before_ns = 0
        steps.read_losses()
    steps._newest.extend(unread[20:40] + unread[41:])
    steps.read_all()
    assert [before for step, before in told if step == 42] == [False]
