"""Loops and pools of people's own, which tell no epochs: what is known of them instead."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.explain import Strength
from holdfast.journal import events as ev
from tests.explain.made import Run, pipeline, sentence


@pytest.mark.parametrize(("first_step_s", "paused"), [(6.5, True), (0.4, False)])
def test_a_pause_at_the_start_of_every_pass(tmp_path: Path, first_step_s: float, paused: bool) -> None:
    run = Run(tmp_path / "run")
    run.probe(
        ev.LoopSeen(by="tf_function", where="train.py:30"),
        pipeline({"op": "map"}, {"op": "shuffle", "buffer_size": 700, "where": "train.py:12"}),
    )
    for number in range(4):
        run.probe(
            ev.PassDone(number=number + 1, steps=200, duration_s=first_step_s + 2, first_step_s=first_step_s)
        )
    run.ended(0)
    found = [finding for finding in run.verdict().findings if finding.cause == "shuffle-refill-pause"]
    assert bool(found) is paused
    if paused:
        assert found[0].strength == Strength.SUPPORTED
        assert (
            sentence(found[0].because[0]) == "the first step of each later epoch took 6.5 s, any other 10 ms"
        )
