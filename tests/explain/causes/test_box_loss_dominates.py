"""A box loss beside which the class loss has no weight."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.explain import Strength
from holdfast.journal import events as ev
from tests.explain.detection_runs import CORNERS, ENTROPY_OF_KINDS, PIXELS, detector, logged, strengths
from tests.explain.learning_runs import dense
from tests.explain.made import Run, code_of, facts, remedies, title_of

_STUCK, _FALLING = [ENTROPY_OF_KINDS] * 4, [1.1, 0.6, 0.3, 0.2]
_HUGE = [600.0, 300.0, 250.0, 240.0]


def example(run: Run) -> None:
    detector(run, PIXELS, logged(_HUGE, _STUCK))


def near_miss(run: Run) -> None:
    detector(run, PIXELS, logged(_HUGE, _FALLING))


@pytest.mark.parametrize(
    ("box", "kind", "found"),
    [
        (_HUGE, _STUCK, [Strength.SUPPORTED]),
        (_HUGE, _FALLING, []),  # the classes are learned all the same
        ([60.0, 50.0, 45.0, 40.0], _STUCK, []),
        ([900.0, 200.0, 3.0, 1.0], _STUCK, []),  # large only at the start
        (_HUGE, [1.2, 1.0, 0.97, 0.96], [Strength.POSSIBLE]),
        (_HUGE, [0.01, 0.01, 0.01, 0.01], []),  # nothing more to learn
    ],
)
def test_size_and_course_decide(
    tmp_path: Path, box: list[float], kind: list[float], found: list[Strength]
) -> None:
    run = Run(tmp_path / "run")
    detector(run, PIXELS, logged(box, kind))
    assert strengths(run, "box-loss-dominates") == found


def test_a_small_weight_of_the_boxes_shows_in_the_total(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    detector(
        run,
        PIXELS,
        [{**log, "loss": 0.001 * log["box_loss"] + log["kind_loss"]} for log in logged(_HUGE, _STUCK)],
    )
    assert strengths(run, "box-loss-dominates") == []


@pytest.mark.parametrize(("of_box", "of_kind", "found"), [(1000.0, 1.0, True), (1.0, 1000.0, False)])
def test_a_large_weight_is_worked_out_from_the_total(
    tmp_path: Path, of_box: float, of_kind: float, found: bool
) -> None:
    run = Run(tmp_path / "run")
    logs = logged([0.9, 0.6, 0.4, 0.3], [1.12, 1.1, 1.098, 1.097])
    detector(
        run, PIXELS, [{**log, "loss": of_box * log["box_loss"] + of_kind * log["kind_loss"]} for log in logs]
    )
    assert bool(strengths(run, "box-loss-dominates")) is found


def test_a_train_step_of_ones_own_names_its_parts(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    logs = [{"loss": 301.1, "reg_loss": 300.0, "cls_loss": 1.1}] * 4
    detector(run, {**PIXELS, "boxes": "corners", "classes": "what"}, logs)
    assert strengths(run, "box-loss-dominates") == [Strength.SUPPORTED]


@pytest.mark.parametrize(("early", "late", "found"), [(60.0, 250.0, True), (250.0, 60.0, False)])
def test_records_of_a_loop_count_by_the_steps_that_they_are_for(
    tmp_path: Path, early: float, late: float, found: bool
) -> None:
    """Every step is recorded at first, later every hundredth: most records are of the first steps."""
    run = Run(tmp_path / "run")
    run.probe(
        ev.OutputSeen(by="call", loss="sparse_categorical_crossentropy", units=3, term="one"),
        ev.OutputSeen(by="call", output="x#1", loss="mean_squared_error", units=4, term="two"),
    )
    for step in [*range(1, 41), *range(100, 2001, 100)]:
        box = 1.1 * (early if step <= 40 else late)
        run.probe(ev.LossSeen(step=step, logs={"one": 1.1, "two": box, "loss": box + 1.1}))
    run.ended(0)
    assert bool(strengths(run, "box-loss-dominates")) is found


def test_what_is_said(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    example(run)
    assert title_of(run.first()) == (
        "the loss of the boxes is 250.7 times that of the classes, and the classes are not learned "
        "(box_loss, kind_loss)"
    )
    assert facts(run.first())["loss.part-course"]["last"] == ENTROPY_OF_KINDS
    assert remedies(run.first()) == ["loss.scale-boxes", "loss.weigh-boxes"]
    assert code_of(run.first().remedies[1]) == 'loss_weights={"box": 0.003989}'


@pytest.mark.parametrize(("norm", "found"), [(0.0012, [Strength.SUPPORTED]), (0.1, [])])
def test_the_gradients_of_the_heads_decide_where_the_box_part_has_fallen(
    tmp_path: Path, norm: float, found: list[Strength]
) -> None:
    """With a norm that is clipped, and names that say nothing."""
    run = Run(tmp_path / "run")
    run.probe(
        ev.OutputSeen(by="call", loss="sparse_categorical_crossentropy", units=3, term="one"),
        ev.OutputSeen(by="call", output="x#1", loss="mean_squared_error", units=4, term="two"),
    )
    for step, box in enumerate([4000.0] * 10 + [15.0] * 5, start=1):
        run.probe(ev.LossSeen(step=step, logs={"one": 1.1, "two": box, "loss": box + 1.1}))
    heads = [{"name": "kernel", "units": 4, "norm": 0.53}, {"name": "kernel", "units": 3, "norm": norm}]
    run.probe(ev.LayersMeasured(step=15, reason="loop", gradients=heads))
    run.ended(0)
    assert strengths(run, "box-loss-dominates") == found


@pytest.mark.parametrize(
    ("apart", "kind", "found"),
    [
        (0.956, [2.2, 2.6, 2.5, 2.4, 2.3, 2.3], [Strength.SUPPORTED]),
        (0.956, [2.2, 1.6, 1.5, 1.4, 1.3, 1.2], []),  # it falls, if slowly
        (0.998, [2.2, 2.6, 2.5, 2.4, 2.3, 2.3], []),  # every object is found
    ],
)
def test_objects_that_the_first_steps_have_told_apart(
    tmp_path: Path, apart: float, kind: list[float], found: list[Strength]
) -> None:
    run = Run(tmp_path / "run")
    answers = ev.DetectionAnswersSeen(fit=1, step=600, places=4608, apart=apart)
    own = dense("linear", 4, "own", output="kind", own_loss=True)
    detector(
        run, CORNERS, logged([700.0, 600.0, 500.0, 400.0, 300.0, 250.0], kind), kind=own, more=(answers,)
    )
    assert strengths(run, "box-loss-dominates") == found
