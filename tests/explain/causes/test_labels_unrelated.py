"""Labels that do not depend on the inputs."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.explain import Strength
from holdfast.journal import events as ev
from tests.explain.learning_runs import FALLING, FLAT, IDS, NUMBERS, dense, trained
from tests.explain.made import Run, facts, remedies, title_of


def _measured(agreement: float, rows: int = 1000, structure: float | None = 1.4) -> ev.DependenceSeen:
    return ev.DependenceSeen(
        fit=1, rows=rows, agreement=agreement, chance=0.5, of="classes", structure=structure
    )


def example(run: Run) -> None:
    trained(run, dense("sigmoid"), IDS, FLAT, accuracy=[0.5] * 6, more=(_measured(0.507),))


def near_miss(run: Run) -> None:
    trained(run, dense("sigmoid"), IDS, FLAT, accuracy=[0.5] * 6, more=(_measured(0.71),))


@pytest.mark.parametrize(
    ("agreement", "rows", "columns", "losses", "strength"),
    [
        (0.5, 1000, 8, FLAT, Strength.SUPPORTED),
        (0.5, 1000, 25, FLAT, Strength.POSSIBLE),
        (0.5, 1000, 400, FLAT, None),
        (0.5, 100, 8, FLAT, None),
        (0.3, 1000, 8, FLAT, None),  # a parity: the nearest row differs in one bit
        (0.5, 1000, 8, FALLING, None),
    ],
)
def test_what_decides(
    tmp_path: Path, agreement: float, rows: int, columns: int, losses: list[float], strength: Strength | None
) -> None:
    run = Run(tmp_path / "run")
    trained(
        run, dense("sigmoid"), IDS, losses, inputs={"columns": columns}, more=(_measured(agreement, rows),)
    )
    found = [one.strength for one in run.verdict().findings if one.cause == "labels-unrelated"]
    assert found == ([strength] if strength is not None else [])


@pytest.mark.parametrize("structure", [1.01, None])
def test_labels_for_rows_of_noise_may_be_a_demonstration(tmp_path: Path, structure: float | None) -> None:
    run = Run(tmp_path / "run")
    trained(run, dense("sigmoid"), IDS, FLAT, accuracy=[0.5] * 6, more=(_measured(0.5, structure=structure),))
    found = [one.strength for one in run.verdict().findings if one.cause == "labels-unrelated"]
    assert found == [Strength.POSSIBLE]


def test_what_is_said(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    example(run)
    assert facts(run.first())["labels.of-nearest-rows"]["agreement"] == 0.507
    assert remedies(run.first()) == ["labels.check-order"]
    assert title_of(run.first()).startswith("the labels do not depend on the inputs")


def test_numbers_that_are_noise_may_be_all_there_is(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    measured = ev.DependenceSeen(fit=1, rows=1000, agreement=0.01, chance=0.0, of="values")
    trained(
        run,
        dense("linear", 1, "mean_squared_error"),
        NUMBERS,
        [1.01, 1.0, 1.0, 1.0, 1.0, 1.0],
        more=(measured,),
    )
    found = [one.strength for one in run.verdict().findings if one.cause == "labels-unrelated"]
    assert found == [Strength.POSSIBLE]
