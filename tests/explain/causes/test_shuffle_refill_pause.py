"""A pause at the start of every epoch, in fit and in loops of the user's own."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.explain import Strength
from holdfast.journal import events as ev
from tests.explain.made import Run, facts, pipeline

_SHUFFLE = {"op": "shuffle", "buffer_size": 2000, "where": "train.py:12"}


def _trained(run: Run, first_step_s: float, *nodes: dict[str, object]) -> None:
    run.fit(epochs=4, steps=50, data=pipeline(*nodes))
    for epoch in range(4):
        seconds, logs = first_step_s + 0.5, {"loss": 1.0 / (epoch + 1)}
        run.probe(
            ev.EpochDone(epoch=epoch, steps=50, duration_s=seconds, first_step_s=first_step_s, logs=logs)
        )
    run.probe(ev.FitDone(steps=200, epochs=4, epochs_done=4, steps_by_epoch=[50] * 4))
    run.ended(0)


def example(run: Run) -> None:
    _trained(run, 4.5, {"op": "map"}, _SHUFFLE)


def near_miss(run: Run) -> None:
    _trained(run, 0.05, _SHUFFLE, {"op": "map"})


def test_the_pause_and_the_buffer(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    example(run)
    assert run.first().title.values == {"pause_s": 4.5}
    assert facts(run.first())["pipeline.shuffle-refilled"] == {"where": "train.py:12", "elements": 2000}


def test_a_pause_without_a_shuffle_has_another_reason(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    _trained(run, 4.5, {"op": "map"})
    assert "shuffle-refill-pause" not in run.slugs()


@pytest.mark.parametrize(("first_step_s", "paused"), [(6.5, True), (0.4, False)])
def test_a_pause_at_the_start_of_every_pass_of_a_loop(
    tmp_path: Path, first_step_s: float, paused: bool
) -> None:
    run = Run(tmp_path / "run")
    run.probe(ev.LoopSeen(by="tf_function", where="train.py:30"), pipeline({"op": "map"}, _SHUFFLE))
    for number in range(1, 5):
        seconds = first_step_s + 2
        run.probe(ev.PassDone(number=number, steps=200, duration_s=seconds, first_step_s=first_step_s))
    run.ended(0)
    found = [one for one in run.verdict().findings if one.cause == "shuffle-refill-pause"]
    assert [one.strength for one in found] == ([Strength.SUPPORTED] if paused else [])
    if paused:
        slow = facts(found[0])["epochs.first-step-slow"]
        assert (slow["pause_s"], round(slow["step_s"], 3)) == (6.5, 0.01)
