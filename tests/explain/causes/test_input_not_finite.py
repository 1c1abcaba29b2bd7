"""NaN or infinity in the data, seen at a step, in a batch, or in the arrays given to fit."""

from __future__ import annotations

from pathlib import Path

from holdfast.explain import Strength
from holdfast.journal import events as ev
from tests.explain.broken_numbers import broke, nan_run
from tests.explain.made import Run, facts


def example(run: Run) -> None:
    nan_run(run, broke(input_finite=False))


def near_miss(run: Run) -> None:
    nan_run(run, broke(input_finite=True))


def test_data_that_broke_the_loss(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    example(run)
    first = run.first()
    assert (first.strength, first.led_to, first.ends) == (Strength.ESTABLISHED, "loss-not-finite", False)
    assert facts(first)["data.not-finite"] == {"what": "", "name": "", "step": 33}
    assert facts(first)["value.became-non-finite"]["value"] == "nan"


def test_a_nan_in_the_data_though_the_loss_stayed_a_number(tmp_path: Path) -> None:
    """A ReLU turns NaN into 0: the weights broke, and the loss stayed finite to the end."""
    run = Run(tmp_path / "run")
    run.fit()
    run.epochs([100, 100, 100], [63.9, 65.3, 64.8])
    run.probe(
        ev.NonFiniteSeen(
            what="weights", name="dense/kernel", step=100, value="nan", last_finite=64.8, recent=[64.0, 65.0, 64.8],
            weights_finite=False, input_finite=False, precision="float32", detail={"seen": "later"},
        )
    )  # fmt: skip
    found = {
        "path": "part 0",
        "finite": False,
        "row": 44,
        "sample": 300,
        "value": "nan",
        "found": "afterwards",
    }
    run.probe(ev.BatchSeen(step=2, parts=[found]))
    run.ended(0)
    first = run.first()
    assert (first.cause, first.strength) == ("input-not-finite", Strength.ESTABLISHED)
    batch = facts(first)["batch.not-finite"]
    assert (batch["sample"], batch["value"], batch["name"]) == (300, "nan", "part 0")
    assert facts(first)["loss.hides-nan"] == {"loss": 64.8}
    assert (
        facts(first)["value.became-non-finite"]["last_finite"] is None
    )  # that was the loss, not the weights


def test_arrays_that_are_not_finite(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    values = {"x": {"min": 0.0, "max": 1.0, "finite": False}, "y": {"min": 0.0, "max": 1.0, "finite": True}}
    run.fit(data=ev.DatasetSeen(type="array", cardinality=100, statistics=values))
    run.probe(broke())
    run.ended(0)
    assert run.slugs()[0] == "input-not-finite"
    assert facts(run.first())["arrays.not-finite"] == {"names": ["x"]}


def test_what_a_function_of_the_input_has_made(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    part = {"path": "part 0", "shape": [16, 8], "finite": False, "columns": [2]}
    _broken_batch(run, part, {"path": "array 0", "finite": True, "found": "stored"})
    assert run.first().title.kind == "input-not-finite.made"
    assert run.first().strength == Strength.ESTABLISHED


def test_some_of_four_columns_may_be_box_arithmetic(tmp_path: Path) -> None:
    """The logarithm of a width below 0, or a gap in the data: what is stored was not seen."""
    run = Run(tmp_path / "run")
    _broken_batch(run, {"path": "part 1", "shape": [16, 4], "finite": False, "columns": [2]})
    assert (run.first().cause, run.first().strength) == ("input-not-finite", Strength.SUPPORTED)


def _broken_batch(run: Run, *parts: dict[str, object]) -> None:
    run.fit()
    run.probe(ev.BatchSeen(step=33, parts=list(parts)))
    run.probe(broke())
    run.ended(0)
