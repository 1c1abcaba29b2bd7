"""A framework's own warning as a finding."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.explain import Strength
from holdfast.journal import events as ev
from tests.explain.learning_runs import IDS, NUMBERS, dense, trained
from tests.explain.made import Run, facts, remedies, title_of

_UNUSED = "Gradients do not exist for variables ['head/kernel:0'] when minimizing the loss."


def _warned(text: str) -> tuple[ev.Event, ...]:
    return (ev.WarningSeen(category="UserWarning", text=text, where="train.py:30"),)


def example(run: Run) -> None:
    trained(run, dense("", own_loss=True, loss="my_loss"), NUMBERS, [1.0] * 4, more=_warned(_UNUSED))


def near_miss(run: Run) -> None:
    trained(run, dense("", own_loss=True, loss="my_loss"), NUMBERS, [1.0, 0.5, 0.2], more=_warned(_UNUSED))


@pytest.mark.parametrize(
    ("text", "losses", "found"),
    [
        (_UNUSED, [1.0] * 4, Strength.SUPPORTED),
        (_UNUSED, [1.0, 0.5, 0.2], None),
        ("`sparse_categorical_crossentropy` received `from_logits=True`, but the output is not", [1.0] * 4, None),
        ("Your input ran out of data; interrupting training.", [1.0] * 4, None),
        ("This axis has size 1. The softmax operation will always return the value 1", [1.0] * 4, Strength.SUPPORTED),
    ],
)  # fmt: skip
def test_which_warnings_become_findings(
    tmp_path: Path, text: str, losses: list[float], found: Strength | None
) -> None:
    run = Run(tmp_path / "run")
    trained(run, dense("", own_loss=True, loss="my_loss"), NUMBERS, losses, more=_warned(text))
    strengths = [one.strength for one in run.verdict().findings if one.cause == "framework-warning"]
    assert strengths == ([found] if found is not None else [])


def test_a_cause_of_its_own_comes_instead(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    text = "This axis has size 1. The softmax operation will always return the value 1"
    trained(run, dense("softmax"), IDS, [0.7] * 4, more=_warned(text))
    assert run.slugs() == ["output-loss-mismatch"]


def test_the_line_is_in_the_title(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    example(run)
    assert title_of(run.first()).endswith("when minimizing the loss. (train.py:30)")
    assert facts(run.first())["framework.warned"]["where"] == "train.py:30"
    assert remedies(run.first()) == ["warning.follow"]
