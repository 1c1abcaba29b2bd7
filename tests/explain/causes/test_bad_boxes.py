"""Boxes that break the loss, in the batch at which it broke or in the data read once more."""

from __future__ import annotations

from pathlib import Path

from holdfast.explain import Strength
from holdfast.journal import events as ev
from tests.explain.broken_numbers import GROWING, broke, nan_run
from tests.explain.made import Run, facts, remedies

_BOXES = {"inverted": 1, "outside": 0, "rows": [217]}


def example(run: Run) -> None:
    nan_run(run, broke(detail={"recent_steps": [0.9, 0.8, 0.7], "boxes": _BOXES}))


def near_miss(run: Run) -> None:
    """The same box, but the loss had grown for several steps."""
    nan_run(run, broke(detail={"recent_steps": GROWING, "boxes": _BOXES}))


def test_the_boxes_of_the_batch_that_broke_the_loss(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    example(run)
    first = run.first()
    assert first.title.values == {"counts": {"inverted": 1}, "rows": [217], "first": None, "batch": None}
    assert facts(first)["value.became-non-finite"]["step"] == 33
    assert "weights.finite-before" in facts(first)
    assert remedies(first) == ["boxes.find", "boxes.clip-and-drop"]
    assert (first.led_to, first.ends) == ("loss-not-finite", False)


def test_a_loss_that_grew_before_speaks_against_the_boxes(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    near_miss(run)
    boxes = next(one for one in run.verdict().findings if one.cause == "bad-boxes")
    assert boxes.strength == Strength.POSSIBLE
    assert [fact.kind for fact in boxes.against] == ["loss.grew-before-it-broke"]


def test_boxes_that_were_found_in_the_data_afterwards(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    run.fit()
    run.probe(
        ev.BatchSeen(step=12, parts=[{"boxes": {"zero_area": 2, "images": ["a.jpg"]}, "found": "afterwards"}])
    )
    run.probe(broke())
    run.ended(0)
    assert run.first().title.values["batch"] == 12
    assert run.first().title.values["counts"] == {"zero_area": 2}


def test_boxes_without_a_failure_blame_nobody(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    run.fit()
    run.probe(ev.BatchSeen(step=12, parts=[{"boxes": {"zero_area": 2}}]))
    run.epochs([100, 100, 100])
    run.ended(0)
    assert run.slugs() == []


def test_boxes_in_the_records_that_failed_a_check_of_the_program(tmp_path: Path) -> None:
    """The assertion names two numbers, and says nothing of boxes."""
    run = Run(tmp_path / "run")
    boxes = {"inverted": 967, "rows": [0, 1, 2], "edges": [0.3757, 0.2969], "in_error": True, "records": 226}
    run.probe(ev.BatchSeen(parts=[{"path": "train.record", "found": "records", "boxes": boxes}]))
    message = (
        "Graph execution error:\n\nDetected at node Assert_1/AssertGuard/Assert defined at (most recent call last):"
        "\n<stack traces unavailable>\nassertion failed: [0.3757] [0.2969]\n"
        "\t [[{{node Assert_1/AssertGuard/Assert}}]]\n"
        "\t [[while/body/_1/IteratorGetNext]] [Op:__inference__dist_train_step_1]"
    )
    run.probe(ev.ExceptionRaised(type="InvalidArgumentError", message=message, left="script"))
    run.ended(1)
    first = run.first()
    assert (first.cause, first.strength) == ("bad-boxes", Strength.ESTABLISHED)
    assert facts(first)["boxes.faulty-in-records"]["path"] == "train.record"
    assert facts(first)["error.quoted"]["text"] == "InvalidArgumentError: assertion failed: [0.3757] [0.2969]"


def stored(run: Run, *, finite: bool = True) -> None:
    """A batch that a function has made has NaN in the widths, and what it reads has a box with its edges swapped."""
    run.fit()
    broken = {"path": "part 1", "shape": [16, 4], "finite": False, "row": 0, "value": "nan", "columns": [2]}
    run.probe(ev.BatchSeen(step=5, parts=[{**broken, "found": "afterwards"}]))
    kept = {"path": "boxes", "finite": finite, "boxes": {"inverted": 1, "rows": [3]}, "found": "stored"}
    run.probe(ev.BatchSeen(step=5, parts=[kept]))
    run.probe(broke())
    run.ended(0)


def test_boxes_that_are_stored_and_become_nan_in_the_input(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    stored(run)
    first = run.first()
    assert (first.cause, first.strength) == ("bad-boxes", Strength.SUPPORTED)
    assert facts(first)["data.stored-finite"] == {"names": ["boxes"], "columns": [2]}


def test_numbers_that_were_stored_so_are_the_cause_themselves(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    stored(run, finite=False)
    assert run.first().cause == "input-not-finite"
