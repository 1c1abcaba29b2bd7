"""A part of the loss that is exactly 0.0."""

from __future__ import annotations

from pathlib import Path

from holdfast.explain import Strength
from holdfast.journal import events as ev
from tests.explain.made import Run, facts


def _trained(run: Run, *, points: int = 8, **parts: float) -> None:
    run.fit()
    for step in range(1, points + 1):
        run.probe(ev.LossSeen(step=20 * step, logs={"loss": 1.0 / step, "class_loss": 1.0 / step, **parts}))
    run.epochs([100, 100, 100])
    run.ended(0)


def example(run: Run) -> None:
    _trained(run, box_loss=0.0)


def near_miss(run: Run) -> None:
    _trained(run, box_loss=0.004)


def test_the_part_that_is_zero_and_the_others(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    example(run)
    assert run.first().title.values == {"zero": ["box_loss"]}
    zero = facts(run.first())["loss.part-zero"]
    assert (zero["other"], zero["records"], zero["steps"]) == (["class_loss"], 11, 300)


def test_a_part_that_is_not_of_boxes_is_only_possible(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    _trained(run, regularization_loss=0.0)
    assert [one.strength for one in run.verdict().findings] == [Strength.POSSIBLE]


def test_a_part_of_validation_is_not_looked_at(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    _trained(run, val_box_loss=0.0)
    assert run.slugs() == []


def test_the_loss_may_become_zero_itself(tmp_path: Path) -> None:
    """Background is soon learned where nothing else is asked for."""
    run = Run(tmp_path / "run")
    for step in range(1, 9):
        logs = {"loss": 0.1 if step < 5 else 0.0, "box_loss": 0.0}
        run.probe(ev.LossSeen(step=20 * step, logs=logs))
    run.ended(0)
    assert [(one.cause, one.strength) for one in run.verdict().findings] == [
        ("no-positive-anchors", Strength.SUPPORTED)
    ]


def test_a_term_is_known_by_what_is_compared_in_it(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    run.probe(
        ev.OutputSeen(by="call", loss="sparse_categorical_crossentropy", units=3, term="one"),
        ev.OutputSeen(by="call", output="x#1", loss="huber", units=4, term="two"),
    )
    for step in range(1, 9):
        run.probe(ev.LossSeen(step=20 * step, logs={"loss": 1 / step, "one": 1 / step, "two": 0.0}))
    run.ended(0)
    assert run.first().title.values == {"zero": ["two"]}
    assert run.first().strength == Strength.SUPPORTED


def test_a_term_of_the_loss_needs_no_loss_in_its_name(tmp_path: Path) -> None:
    """A focal loss written by hand is no cross-entropy that is recognised."""
    run = Run(tmp_path / "run")
    run.probe(
        ev.OutputSeen(by="call", loss="mean_absolute_error", units=4, part=True, term="l_box"),
        ev.OutputSeen(by="call", output="x#1", loss="mean_squared_error", units=128, part=True, term="l_cls"),
    )
    for step in range(1, 9):
        run.probe(ev.LossSeen(step=20 * step, logs={"loss": 1 / step, "l_cls": 1 / step, "l_box": 0.0}))
    run.ended(0)
    first = run.first()
    assert (first.cause, first.strength) == ("no-positive-anchors", Strength.SUPPORTED)
    assert first.title.values == {"zero": ["l_box"]}


def test_a_term_that_compares_no_row(tmp_path: Path) -> None:
    """Whatever its name and however many numbers it has."""
    run = Run(tmp_path / "run")
    run.probe(ev.OutputSeen(by="call", loss="huber", units=6, term="lb", prediction_shape=[0, 6]))
    for step in range(1, 9):
        run.probe(ev.LossSeen(step=20 * step, logs={"loss": 1 / step, "lc": 1 / step, "lb": 0.0}))
    run.ended(0)
    first = run.first()
    assert (first.cause, first.strength) == ("no-positive-anchors", Strength.SUPPORTED)
    assert facts(first)["loss.part-without-rows"]["name"] == "lb"


def test_boxes_that_are_zeros_in_every_batch(tmp_path: Path) -> None:
    """A jitted step shows its loss only."""
    for batches, found in ((50, [Strength.SUPPORTED]), (2, [])):
        run = Run(tmp_path / str(batches))
        run.probe(ev.OutputSeen(by="call", loss="mean_absolute_error", units=4, part=True))
        run.probe(
            ev.DetectionTargetsSeen(
                step=1, batches=batches, ids={"-1": 720}, places=720, several=True, rates=[0.0] * 4
            )
        )
        for step in range(1, 9):
            run.probe(ev.LossSeen(step=20 * step, logs={"loss": 1 / step}))
        run.ended(0)
        blamed = [one for one in run.verdict().findings if one.cause == "no-positive-anchors"]
        assert [one.strength for one in blamed] == found
        assert [one.title.kind for one in blamed] == ["no-positive-anchors.targets"] * len(found)
