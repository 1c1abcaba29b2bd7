"""Short steps are only counted between two that are looked at whole: nothing of what is told gets lost by it."""

from __future__ import annotations

import math
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from holdfast.journal.beats import BeatReader, Phase
from holdfast.journal.events import (
    EpochDone,
    ExceptionRaised,
    FitDone,
    LossSeen,
    NonFiniteSeen,
    ProbeFailed,
    StopRequested,
)
from holdfast.journal.reader import read
from holdfast.probe.fit import train_batches

from ..probed import SCRIPTS, new_context, run


class Weight:
    """A variable in the host's memory that stays whole."""

    device = "/CPU:0"
    shape = (3,)
    path = "dense/bias"

    def numpy(self) -> Any:
        return np.ones(3, np.float32)


@pytest.mark.parametrize(("counted", "known"), [(False, True), (True, None)])
def test_weights_were_whole_before_a_step_only_if_they_were_looked_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, counted: bool, known: bool | None
) -> None:
    now = [0]
    monkeypatch.setattr(train_batches, "monotonic_ns", lambda: now[0])
    context = new_context(tmp_path)
    walked = train_batches.TrainBatches(context)
    fit = walked.fits.begin(SimpleNamespace(trainable_variables=[Weight()]), {}, "train.py:1")
    walked.fits.epoch_begins(fit, 0)

    def step(batch: int, loss: float, took_ms: int) -> None:
        walked.begins()
        now[0] += took_ms * 10**6
        walked.ends(batch, {"loss": loss})

    for batch in range(201):  # of long steps every one is looked at
        step(batch, 1.0, 1 if counted else 210)
    assert context.heartbeat.quick is counted
    step(201, float("nan"), 210)
    [seen] = [
        entry.event for entry in read(tmp_path / "journal.jsonl") if isinstance(entry.event, NonFiniteSeen)
    ]
    assert (seen.step, seen.weights_finite_before) == (202, known)


@pytest.mark.hot
def test_a_kill_between_two_beats_is_told_with_its_step_and_its_callback(tmp_path: Path) -> None:
    killed = run(SCRIPTS / "short_steps.py", "killed", folder=tmp_path)
    assert killed.code == -9
    newest = BeatReader(tmp_path / "beats").newest()
    assert newest is not None
    assert (newest.step, newest.train_batches, newest.phase) == (314, 314, Phase.CALLBACK)
    assert newest.callback_index == 1  # the LambdaCallback, whose methods are in the object itself
    whole = [beat.step for beat in killed.beats if beat.phase is Phase.STEP]
    assert whole[:199] == list(range(1, 200))  # the step before the first is a compilation
    assert len(whole) < 314, "not one of the later steps was only counted"


@pytest.mark.hot
def test_a_loss_that_breaks_between_two_beats_is_told_with_its_step(tmp_path: Path) -> None:
    broken = run(SCRIPTS / "short_steps.py", "breaks", folder=tmp_path)
    assert broken.code == 0
    first = broken.all(NonFiniteSeen)[0]
    assert (first.what, first.name, first.step, first.value) == ("loss", "loss", 314, "nan")
    assert broken.one(FitDone).steps == 400
    assert broken.all(ProbeFailed) == []
    assert [event.step for event in broken.all(LossSeen)][:20] == list(range(1, 21))


@pytest.mark.hot
def test_a_loss_that_breaks_is_told_before_the_callback_that_stops_because_of_it(tmp_path: Path) -> None:
    stopped = run(SCRIPTS / "short_steps.py", "stops", folder=tmp_path)
    assert stopped.one(FitDone).steps == 314
    told = [
        entry.event for entry in stopped.entries if isinstance(entry.event, NonFiniteSeen | StopRequested)
    ]
    assert [type(event).__name__ for event in told[:2]] == ["NonFiniteSeen", "StopRequested"]
    assert (told[0].step, told[1].step, told[1].by) == (314, 314, "TerminateOnNaN")
    assert math.isnan(told[1].logs["loss"])


@pytest.mark.hot
def test_a_lambda_callback_that_raises_is_named(tmp_path: Path) -> None:
    raised = run(SCRIPTS / "short_steps.py", "raises", folder=tmp_path)
    assert raised.code == 1
    found = [event for event in raised.all(ExceptionRaised) if event.left == "callback"]
    assert [event.callback for event in found] == ["LambdaCallback"]


@pytest.mark.hot
def test_the_steps_of_a_fit_inside_a_callback_are_not_ends_of_epochs(tmp_path: Path) -> None:
    nested = run(SCRIPTS / "fit_in_callback.py", folder=tmp_path)
    assert nested.code == 0, nested.output
    done = [(event.fit, event.epoch) for event in nested.all(EpochDone)]
    assert done == [(1, 0), (2, 0), (2, 1), (1, 1), (3, 0), (3, 1)]
    assert sorted((event.fit, event.steps) for event in nested.all(FitDone)) == [(1, 10), (2, 20), (3, 20)]
    assert nested.all(ProbeFailed) == []
