"""One class that hides the other."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from holdfast.explain import Strength
from holdfast.journal import events as ev
from tests.explain import recipe_runs
from tests.explain.learning_runs import IDS, dense, trained, values
from tests.explain.made import Run, code_of, facts, remedies, title_of

_RARE = {**IDS, "mean": 0.05, "std": 0.218, "classes": {"0": 950, "1": 50}}
_ENTROPY = 0.1985


def example(run: Run) -> None:
    trained(run, dense("sigmoid"), _RARE, [0.3, 0.2, _ENTROPY, _ENTROPY], accuracy=[0.95] * 4)


def near_miss(run: Run) -> None:
    trained(run, dense("sigmoid"), _RARE, [0.3, 0.1, 0.08, 0.05], accuracy=[0.95, 0.96, 0.97, 0.98])


@pytest.mark.parametrize(
    ("target", "losses", "accuracy", "strength"),
    [
        (_RARE, [0.3, _ENTROPY, _ENTROPY], 0.95, Strength.SUPPORTED),
        (_RARE, [0.3, 0.15, 0.12], 0.95, Strength.POSSIBLE),  # it ranks them, and only the limit hides it
        (_RARE, [0.3, _ENTROPY, _ENTROPY], 0.97, None),
        ({**_RARE, "classes": {"0": 600, "1": 400}}, [0.7, 0.673, 0.673], 0.6, None),
        ({**_RARE, "step": 1}, [0.3, _ENTROPY, _ENTROPY], 0.95, None),
    ],
)
def test_share_accuracy_and_loss_decide(
    tmp_path: Path, target: dict[str, Any], losses: list[float], accuracy: float, strength: Strength | None
) -> None:
    run = Run(tmp_path / "run")
    trained(run, dense("sigmoid"), target, losses, accuracy=[accuracy] * len(losses))
    found = [one.strength for one in run.verdict().findings if one.cause == "class-imbalance"]
    assert found == ([strength] if strength is not None else [])


def test_class_weights_were_tried(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    weights = values("weight", name="class_weight")
    trained(run, dense("sigmoid"), _RARE, [0.3, _ENTROPY, _ENTROPY], accuracy=[0.95] * 3, more=(weights,))
    assert "class-imbalance" not in run.blamed()


def test_what_is_said(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    example(run)
    assert title_of(run.first()) == "95 % of the labels are class 0, and the network answers nothing else"
    assert facts(run.first())["training.accuracy-against-majority"] == {"accuracy": 0.95, "majority": 0.95}
    assert remedies(run.first()) == ["classes.weight", "metric.of-rare-class"]
    assert code_of(run.first().remedies[0]) == "model.fit(x, y, class_weight={0: 1.0, 1: 19})"


@pytest.mark.parametrize(("of", "strength"), [(100, Strength.SUPPORTED), (1000, Strength.POSSIBLE)])
def test_a_class_that_is_only_validated(of: int, strength: Strength, tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    recipe_runs.trained(run, ev.ClassesUnlearned(boxes={"nut": 18}, of=of), precision=0.4)
    first = run.first()
    assert (first.cause, first.strength) == ("class-imbalance", strength)
    assert (
        title_of(first)
        == "the training data has no box of nut, and the validation data has 18: they are never found"
    )
