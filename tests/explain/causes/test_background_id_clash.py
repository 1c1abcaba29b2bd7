"""One id for background and for objects."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from holdfast.explain import Strength
from holdfast.journal import events as ev
from tests.explain.detection_runs import CORNERS, detector, logged, strengths
from tests.explain.learning_runs import dense, values
from tests.explain.made import Run, code_of, facts, remedies, title_of

_CLASH: dict[str, Any] = {
    **CORNERS, "places": 21600, "several": True, "ids": {"0": 21196, "1": 218, "2": 186},
    "with_box": {"1": 218, "0": 196, "2": 186}, "without_box": {"0": 21000},
}  # fmt: skip
_APART: dict[str, Any] = {
    **_CLASH, "ids": {"0": 21000, "2": 218, "1": 196, "3": 186}, "highest_id": 3,
    "with_box": {"2": 218, "1": 196, "3": 186},
}  # fmt: skip
_FOUR = dense("softmax", 4, "sparse_categorical_crossentropy", output="kind")
_LOGS = logged([0.02, 0.01, 0.008, 0.006], [0.3, 0.12, 0.09, 0.07])


def example(run: Run) -> None:
    detector(run, _CLASH, _LOGS, kind=_FOUR)


def near_miss(run: Run) -> None:
    detector(run, _APART, _LOGS, kind=_FOUR)


@pytest.mark.parametrize(
    ("target", "units", "found"),
    [
        (_CLASH, 4, [Strength.SUPPORTED]),
        (_CLASH, 3, []),  # padding with 0, and no unit for background
        (_CLASH, 80, []),
        ({**_CLASH, "with_box": {"1": 218, "2": 186, "0": 3}}, 4, []),  # a few wrong labels
        ({**_CLASH, "with_box": {"0": 600}}, 4, []),  # one class
        ({**_CLASH, "rates": [0.98, 0.01, 0.01, 0.0]}, 4, [Strength.SUPPORTED]),
        ({**_CLASH, "with_box": {}, "without_box": {}}, 4, [Strength.POSSIBLE]),
        ({**_CLASH, "without_box": {}}, 4, []),  # every place has a box
    ],
)
def test_ids_and_units_decide(
    tmp_path: Path, target: dict[str, Any], units: int, found: list[Strength]
) -> None:
    run = Run(tmp_path / "run")
    kind = dense("softmax", units, "sparse_categorical_crossentropy", output="kind")
    detector(run, target, _LOGS, kind=kind)
    assert strengths(run, "background-id-clash") == found


@pytest.mark.parametrize("how", ["own", "weights"])
def test_a_mask_that_cannot_be_seen(tmp_path: Path, how: str) -> None:
    run = Run(tmp_path / "run")
    own: ev.OutputSeen = dense("softmax", 4, "masked_loss", output="kind", own_loss=True)
    more = (values("weight"),) if how == "weights" else ()
    detector(run, _CLASH, _LOGS, kind=own if how == "own" else _FOUR, more=more)
    assert strengths(run, "background-id-clash") == [Strength.POSSIBLE]


def test_what_is_said(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    example(run)
    assert title_of(run.first()) == (
        "class id 0 means background and an object: 196 boxes and 21,000 places without a box have it"
    )
    assert facts(run.first())["ids.unused-unit"]["unused"] == 3
    assert remedies(run.first()) == ["ids.shift", "ids.last-is-background"]
    assert code_of(run.first().remedies[1]) == "ids = np.where(has_box, ids, 3)"


@pytest.mark.parametrize(
    ("answered", "others", "found"),
    [
        ({"0": 4400, "1": 100, "2": 90}, 4, [Strength.SUPPORTED]),
        ({"0": 900, "1": 1800, "2": 1900}, 4, []),  # places without an object are left out of the loss
        ({"0": 4400, "1": 100, "2": 90}, 5, []),  # another output may say where an object is
    ],
)
def test_answers_decide_without_a_unit_for_background(
    tmp_path: Path, answered: dict[str, int], others: int, found: list[Strength]
) -> None:
    run = Run(tmp_path / "run")
    kind = dense("softmax", 3, "sparse_categorical_crossentropy", output="kind")
    run.probe(
        ev.DetectionAnswersSeen(
            fit=1,
            places=4608,
            most_frequent=0,
            wanted={"0": 4455, "1": 79, "2": 74},
            answered=answered,
            apart=0.999,
        )
    )
    box = dense("linear", others, "mean_squared_error", output="box")
    detector(run, {**_CLASH, "highest_id": 2, "classes": "kind"}, _LOGS, kind=kind, box=box)
    assert strengths(run, "background-id-clash") == found


@pytest.mark.parametrize(
    ("by_id", "found"),
    [
        ({"0": 0.0, "1": 0.95, "2": 0.84}, [Strength.SUPPORTED]),
        ({"0": 0.9, "1": 0.9, "2": 0.92}, []),
        ({}, []),
    ],
)
def test_a_map_of_boxes_and_ids(tmp_path: Path, by_id: dict[str, float], found: list[Strength]) -> None:
    run = Run(tmp_path / "run")
    run.probe(ev.DetectionAnswersSeen(fit=1, places=2000, most_frequent=0, found_by_id=by_id))
    detector(run, {**_CLASH, "highest_id": 2, "packed": True}, _LOGS)
    assert strengths(run, "background-id-clash") == found


_ONE_ID: dict[str, Any] = {
    **_CLASH, "ids": {"0": 21600}, "highest_id": 0, "with_box": {"0": 600}, "without_box": {"0": 21000},
}  # fmt: skip
_TWO = dense("linear", 2, "sparse_categorical_crossentropy", output="kind")


@pytest.mark.parametrize(
    ("target", "kind", "more", "found"),
    [
        (_ONE_ID, _TWO, (), [Strength.SUPPORTED]),
        (_ONE_ID, dense("sigmoid", 1, output="kind"), (), [Strength.SUPPORTED]),
        (_ONE_ID, dense("linear", 2, "masked", output="kind", own_loss=True), (), [Strength.POSSIBLE]),
        (_ONE_ID, _TWO, (values("weight"),), [Strength.POSSIBLE]),  # places without a box may have no weight
        (_ONE_ID, _TWO, (dense("sigmoid", 1, output="object"),), []),  # which says where an object is
        ({**_ONE_ID, "with_box": {"0": 21600}, "without_box": {}}, _TWO, (), []),  # one class, a box each
        ({**_ONE_ID, "ids": {"0": 21000, "1": 600}, "with_box": {"1": 600}}, _TWO, (), []),
    ],
)
def test_the_only_id_is_that_of_the_background(
    tmp_path: Path, target: dict[str, Any], kind: ev.OutputSeen, more: Any, found: list[Strength]
) -> None:
    run = Run(tmp_path / "run")
    detector(run, target, _LOGS, kind=kind, more=more)
    assert strengths(run, "background-id-clash") == found
    if found:
        assert title_of(run.first()) == (
            "every place has class id 0, 600 boxes and 21,000 places without a box: nothing tells an object from "
            "background"
        )


_OBJECTS = {**_CLASH, "padded": 0.02, "highest_id": 2}


@pytest.mark.parametrize(
    ("target", "units", "more", "found"),
    [
        (_OBJECTS, 3, (), [Strength.SUPPORTED]),
        ({**_OBJECTS, "padded": 1.0}, 3, (), []),  # a list of boxes, that zeros make longer
        ({**_OBJECTS, "padded": None}, 3, (), []),
        (_OBJECTS, 80, (), []),
        (_OBJECTS, 3, (dense("sigmoid", 1, output="object"),), []),
        (_OBJECTS, 3, (values("weight"),), []),
        ({**_APART, "padded": 0.02}, 4, (), []),
    ],
)
def test_anchors_of_which_only_the_class_says_what_they_hold(
    tmp_path: Path, target: dict[str, Any], units: int, more: Any, found: list[Strength]
) -> None:
    run = Run(tmp_path / "run")
    kind = dense("linear", units, "own", output="kind", own_loss=True)
    detector(run, target, _LOGS, kind=kind, more=more)
    assert strengths(run, "background-id-clash") == found


@pytest.mark.parametrize(("terms", "found"), [(2, [Strength.SUPPORTED]), (3, [])])
def test_anchors_in_a_loop(tmp_path: Path, terms: int, found: list[Strength]) -> None:
    run = Run(tmp_path / "run")
    run.probe(ev.LoopSeen(by="gradient_tape", where="train.py:30"))
    kind = dense("linear", 3, "sparse_categorical_crossentropy", output="", by="call", fit=None, term="kinds")
    box = dense("linear", 4, "mean_absolute_error", output="train.py:30#1", by="call", fit=None, term="boxes")
    run.probe(kind, box, ev.DetectionTargetsSeen(step=1, **{**_OBJECTS, "boxes": "", "classes": ""}))
    for step in range(1, 40):
        logs = {"loss": 1 / step, **dict.fromkeys(["kinds", "boxes", "there"][:terms], 0.5 / step)}
        run.probe(ev.LossSeen(step=step, logs=logs, step_loss=1 / step))
    run.samples(3, rss_bytes=1 << 20, phase="step", step=40)
    run.ended(0)
    assert strengths(run, "background-id-clash") == found


def test_one_id_in_a_loop_whose_loss_of_boxes_is_not_read(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    run.probe(ev.LoopSeen(by="gradient_tape", where="train.py:30"))
    run.probe(
        dense(
            "linear",
            2,
            "sparse_categorical_crossentropy",
            output="",
            by="call",
            fit=None,
            term="kinds",
            from_logits=True,
        )
    )
    run.probe(values("target", fit=None, shape=[64], min=0.0, max=0.0, whole_numbers=True, rows_differ=False))
    run.probe(ev.DetectionTargetsSeen(step=1, **{**_ONE_ID, "boxes": "", "classes": ""}))
    for step in range(1, 40):
        run.probe(ev.LossSeen(step=step, logs={"loss": 1 / step, "kinds": 0.5 / step, "boxes": 0.5 / step}))
    run.samples(3, rss_bytes=1 << 20, phase="step", step=40)
    run.ended(0)
    assert run.slugs() == ["background-id-clash"]
