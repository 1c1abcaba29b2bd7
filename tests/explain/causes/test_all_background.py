"""A detector that finds nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from holdfast.explain import Strength
from holdfast.journal import events as ev
from tests.explain.detection_runs import detector, strengths
from tests.explain.made import Run, facts, remedies, title_of

_PLACES: dict[str, Any] = {
    "image": [48, 48], "places": 21600, "ids": {"0": 21000, "2": 218, "1": 196, "3": 186}, "highest_id": 3,
    "lowest_id": 0, "several": True, "boxes": "box", "classes": "kind",
}  # fmt: skip
_ENTROPY = 0.158
_ANSWERS: dict[str, Any] = {
    "fit": 1, "step": 400, "name": "kind", "places": 2304, "most_frequent": 0,
    "wanted": {"0": 2240, "1": 26, "2": 27, "3": 11}, "answered": {"0": 2304}, "highest": -0.8, "apart": 0.55,
}  # fmt: skip


def _trained(
    run: Run, kind: list[float], answers: dict[str, Any] | None = None, places: int = 36, **more: Any
) -> None:
    logs = [{"kind_loss": one, "loss": one, **more} for one in kind]
    seen = (ev.DetectionAnswersSeen(**{**_ANSWERS, **answers}),) if answers is not None else ()
    of_places = ev.ValuesSeen(role="target", name="kind", fit=1, rows=600, shape=[places])
    detector(run, _PLACES, logs, more=(of_places, *seen))


def example(run: Run) -> None:
    _trained(run, [0.4, 0.17, 0.16, _ENTROPY], {})


def near_miss(run: Run) -> None:
    _trained(run, [0.4, 0.1, 0.06, 0.03], {"answered": {"0": 2242, "1": 25, "2": 27, "3": 10}, "apart": 0.99})


@pytest.mark.parametrize(
    ("kind", "answers", "found"),
    [
        ([0.4, 0.17, 0.16, _ENTROPY], {}, [Strength.SUPPORTED]),
        ([0.4, 0.15, 0.13, 0.12], {"apart": 0.9}, [Strength.POSSIBLE]),  # it still falls, and it ranks them
        ([0.4, 0.15, 0.13, 0.13], {"apart": 0.9}, [Strength.POSSIBLE]),  # one epoch without progress is noise
        ([0.4, 0.15, 0.13, 0.13], {"apart": 0.97}, []),  # a lower limit finds them
        ([0.4, 0.17, 0.16, _ENTROPY], {"answered": {"0": 2300, "1": 4}}, []),
        ([0.4, 0.17, 0.16, _ENTROPY], {"answered": {"1": 2304}}, []),
        ([0.4, 0.17, 0.16, _ENTROPY], None, []),  # neither answers nor accuracy were seen
        ([0.4, _ENTROPY], {}, [Strength.POSSIBLE]),
    ],
)
def test_answers_and_course_decide(
    tmp_path: Path, kind: list[float], answers: dict[str, Any] | None, found: list[Strength]
) -> None:
    run = Run(tmp_path / "run")
    _trained(run, kind, answers)
    assert strengths(run, "all-background") == found


@pytest.mark.parametrize(("accuracy", "found"), [(0.9722, [Strength.SUPPORTED]), (0.99, [])])
def test_accuracy_at_the_share_of_background(tmp_path: Path, accuracy: float, found: list[Strength]) -> None:
    run = Run(tmp_path / "run")
    _trained(run, [0.4, 0.17, 0.16, _ENTROPY], None, kind_accuracy=accuracy)
    assert strengths(run, "all-background") == found


def test_units_by_themselves(tmp_path: Path) -> None:
    """Rows of zeros and ones, where background is no class."""
    for highest, found in ((0.1, [Strength.SUPPORTED]), (0.9, [])):
        run = Run(tmp_path / str(highest))
        _trained(run, [0.4, 0.17, 0.16, 0.16], {"most_frequent": -1, "answered": {}, "highest": highest})
        assert strengths(run, "all-background") == found


def test_one_class_each_is_no_background(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    more = (ev.DetectionAnswersSeen(**_ANSWERS),)
    detector(run, {**_PLACES, "several": False}, [{"kind_loss": 0.158, "loss": 0.158}] * 4, more=more)
    assert strengths(run, "all-background") == []


def test_what_is_said(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    example(run)
    assert title_of(run.first()) == "the network answers background at every place: 97 % of them are class 0"
    assert facts(run.first())["places.answered"] == {"places": 2304, "objects": 64, "apart": 0.55}
    assert remedies(run.first()) == ["classes.focal-loss", "classes.sample-places"]


def test_a_few_labels_of_an_image_are_those_of_a_classifier(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    _trained(run, [0.4, 0.17, 0.16, _ENTROPY], {}, places=6)
    assert strengths(run, "all-background") == []
