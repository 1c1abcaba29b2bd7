"""A loss that jumps in one step is data's doing; one that grows over several is the rate's."""

from __future__ import annotations

from pathlib import Path

from holdfast.explain import Strength, Verdict
from holdfast.journal import events as ev
from tests.explain.made import Run, title_of

_ORDINARY = [0.06 + 0.002 * (number % 7) for number in range(40)]


def _broke(path: Path, losses: list[float], *parts: dict[str, object]) -> Verdict:
    run = Run(path)
    run.probe(ev.LoopSeen(by="train_on_batch", where="train.py:12"))
    if parts:
        run.probe(ev.BatchSeen(step=len(losses), parts=list(parts)))
    run.probe(
        ev.NonFiniteSeen(
            what="loss", name="loss", step=len(losses) + 1, value="inf", last_finite=losses[-1], recent=list(losses),
            weights_finite=False, learning_rate=0.01, precision="float32", detail={"recent_steps": list(losses)},
        )
    )  # fmt: skip
    run.ended(0)
    return run.verdict()


def _causes(verdict: Verdict) -> list[tuple[str, Strength]]:
    return [(one.cause, one.strength) for one in verdict.findings]


def test_the_value_far_beyond_the_others_is_named(tmp_path: Path) -> None:
    part = {"path": "x", "far": 9.9e11, "usual": 0.99, "row": 3, "shape": [32, 12]}
    verdict = _broke(tmp_path / "run", [*_ORDINARY, 5.7e23], part)
    assert _causes(verdict) == [("input-scale-mismatch", Strength.SUPPORTED)]
    assert "batch 41 holds 9.9e+11 in x (row 3), where others reach 0.99" in title_of(verdict.findings[0])


def test_a_value_far_beyond_that_the_training_came_back_from_blames_nobody(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    run.probe(ev.LoopSeen(by="train_on_batch", where="train.py:12"))
    run.probe(ev.BatchSeen(step=41, parts=[{"path": "y", "far": 1e6, "usual": 1.0, "row": 0}]))
    run.probe(
        *(
            ev.LossSeen(step=step, logs={"loss": loss})
            for step, loss in enumerate([*_ORDINARY, 900.0, *_ORDINARY])
        )
    )
    run.ended(0)
    assert [one.strength for one in run.verdict().findings] == [Strength.POSSIBLE]
