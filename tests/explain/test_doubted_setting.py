"""A setting that the trainer doubted, and what the run then found."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.explain import Strength
from tests.explain.made import Run, do_of, facts, title_of
from tests.explain.recipe_runs import doubted, trained

RULES = {
    "random-backbone-frozen": "nothing-trainable",
    "weights-cannot-move": "learning-rate-too-low",
    "warmup-never-ends": "learning-rate-too-low",
    "steps-too-large": "learning-rate-too-high",
    "decay-too-strong": "regularisation-too-strong",
    "too-few-updates": "too-few-updates",
}


@pytest.mark.parametrize("rule", RULES)
def test_each_rule_is_a_cause_where_nothing_was_found(rule: str, tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    trained(run, doubted(rule), precision=0.003)
    first = run.first()
    assert (first.cause, first.strength) == (RULES[rule], Strength.SUPPORTED)
    assert title_of(first) == "it found next to nothing, and train.learning_rate is 1e-07: said of it"
    assert facts(first)["validation.best"] == {"precision": 0.003, "validations": 1}
    assert [do_of(one) for one in first.remedies] == ["train.learning_rate = other"]


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("precision", [0.2, None])
def test_a_run_that_finds_objects_or_was_not_validated_is_left_alone(
    rule: str, precision: float | None, tmp_path: Path
) -> None:
    run = Run(tmp_path / "run")
    trained(run, doubted(rule), precision=precision)
    assert run.slugs() == []


def test_a_run_that_finds_nothing_yet_is_no_fault(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    trained(run, precision=0.003)
    assert run.slugs() == []


def test_two_settings_of_one_cause_are_one_finding(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    rule = "random-backbone-frozen"
    trained(
        run, doubted(rule, "train.freeze_steps", 200), doubted(rule, "train.frozen_stages", 5), precision=0.0
    )
    first = run.first()
    assert [one.kind for one in first.because].count("setting.doubted") == 2
    assert len(first.remedies) == 2


def test_a_run_that_learned_its_few_images_is_left_alone(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    trained(run, doubted("too-few-updates", "train.steps", 60), precision=0.01, steps=60, losses=(8.0, 0.3))
    assert "too-few-updates" not in run.blamed()
