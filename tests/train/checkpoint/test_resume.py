"""Resuming from a checkpoint after the recipe or the data has changed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from holdfast import settings
from holdfast.errors import HoldfastError
from holdfast.report.text import render_error
from holdfast.train.checkpoint import resume
from holdfast.train.checkpoint.checkpoint_files import Snapshot
from holdfast.train.checkpoint.resume import CannotResume

SPEC = {"classes": ["cat", "dog"], "anchors": None, "normalization": "frozen-batch", "precision": "float32"}


RECIPE = settings.resolve({"data": {"train": "shapes"}}, [])


def test_a_renamed_class_is_not_taken_for_the_one_that_its_head_learnt() -> None:
    with pytest.raises(CannotResume) as refused:
        resume.check_spec(SPEC, SPEC | {"classes": ["ant", "cat"]}, where="recipe.toml", accepted=True)
    assert refused.value.found == ("then cat, dog", "now ant, cat")
    resume.check_spec(SPEC, SPEC | {"precision": "float16"}, where="recipe.toml")


def test_anchors_that_were_fitted_to_other_boxes_are_refused_unless_accepted() -> None:
    other = SPEC | {"anchors": [[[1.0, 2.0]]]}
    with pytest.raises(CannotResume, match="gives other anchors"):
        resume.check_spec(SPEC, other, where="recipe.toml")
    resume.check_spec(SPEC, other, where="recipe.toml", accepted=True)


def changed(*overrides: str) -> dict[str, tuple[object, object]]:
    now = settings.resolve({"data": {"train": "shapes"}}, overrides)
    return resume.changed_settings(resume.flatten(RECIPE), resume.flatten(now))


def test_changes_are_described() -> None:
    assert changed() == {}
    assert (
        resume.describe_changes(changed("train.keep_checkpoints=9"))
        == "the recipe has changed: train.keep_checkpoints 3 → 9"
    )
    text = resume.describe_changes(changed("train.learning_rate=0.01", "train.early_stopping_patience=4"))
    assert text == (
        "the recipe has changed: train.learning_rate 0.001 → 0.01, train.early_stopping_patience nothing → 4 "
        "(the result will not be that of a single run)"
    )
    resume.check_changes(changed("train.learning_rate=0.01", "train.steps=9000"), where="recipe.toml")


def test_images_resized_elsewhere_than_before_are_reported() -> None:
    """`auto` on a machine without a GPU, of a run that began on one; older checkpoints have no such number."""
    sent, here, old = {"feed": {"sent_pixels": 499_712}}, {"feed": {"sent_pixels": None}}, {"feed": {}}
    assert resume.resize_note(sent, sent) == resume.resize_note(old, here) == ""
    assert resume.resize_note(sent, here) == (
        "images were resized in the step, from 499712 pixels each, so far, and are resized by the CPU now "
        "(the result may differ by rounding)"
    )
    assert 'data.resize "auto" → "host" (the result will not be' in resume.describe_changes(
        changed("data.resize=host")
    )


@pytest.mark.parametrize(
    "override", ["train.batch=8", "model.detector=retinanet", "train.seed=4", "model.input=512"]
)
def test_changes_across_which_nothing_can_be_resumed_are_refused(override: str) -> None:
    with pytest.raises(HoldfastError, match=f"{override.split('=')[0]} was changed") as caught:
        resume.check_changes(changed(override), where="recipe.toml")
    assert caught.value.slug == "cannot-resume"


def test_accepted_changes_resume_where_the_weights_still_fit() -> None:
    resume.check_changes(changed("train.batch=8", "model.input=512"), where="recipe.toml", accepted=True)
    resume.check_images({"images": 240}, {"images": 239}, where="recipe.toml", accepted=True)
    with pytest.raises(HoldfastError, match=r"model\.detector was changed") as caught:
        resume.check_changes(
            changed("model.detector=retinanet", "train.batch=8"), where="recipe.toml", accepted=True
        )
    assert len(caught.value.change) == 1, "--accept-changes would not help"


PARTS = {"recipe": {}, "data": {}, "spec": {}, "progress": {}, "micro_batch": 4}


@pytest.mark.parametrize(
    ("meta", "said"),
    [
        ({}, "recipe, data, spec, progress, micro_batch"),
        (PARTS | {"data": "text", "micro_batch": None}, "data, micro_batch"),
    ],
)
def test_a_checkpoint_of_another_program_is_refused(meta: dict[str, Any], said: str, tmp_path: Path) -> None:
    resume.check_parts(Snapshot(12, {}, PARTS), tmp_path)
    with pytest.raises(CannotResume, match="does not hold the state of this run") as refused:
        resume.check_parts(Snapshot(12, {}, meta), tmp_path)
    assert refused.value.found == (f"meta.json does not say: {said}",)
    assert refused.value.where == str(tmp_path / "step-12")


def test_a_state_of_another_network_is_refused_before_it_is_loaded(tmp_path: Path) -> None:
    from tests.train import tiny
    from tests.train.tiny_run import OPTIMIZER

    step = tiny.step(tiny.network(), OPTIMIZER, size=8)
    recipe = settings.resolve({"data": {"train": "shapes"}}, ["train.ema=0.9"])
    meta = PARTS | {"recipe": resume.flatten(recipe)}
    whole = step.export()
    name = min(whole["weights"])
    resume.restore(step, Snapshot(12, whole, meta), recipe, tolerated=0, folder=tmp_path)
    for weights in (
        {},
        {one: array for one, array in whole["weights"].items() if one != name},
        {**whole["weights"], name: np.zeros((*whole["weights"][name].shape, 2), np.float32)},
    ):
        other = Snapshot(12, {**whole, "weights": weights}, meta)
        with pytest.raises(CannotResume) as refused:
            resume.restore(step, other, recipe, tolerated=0, folder=tmp_path)
        assert refused.value.found[0].startswith("missing, or of another shape: weights/")
        assert name in refused.value.found[0]


def test_the_refusals_read_well(stored: Callable[[str, str], None]) -> None:
    with pytest.raises(HoldfastError) as caught:
        resume.check_changes(changed("train.batch=8"), where="runs/shapes-1/recipe.toml")
    stored("train/resume-changed-batch", render_error(caught.value))
    with pytest.raises(HoldfastError) as caught:
        resume.check_images({"images": 240}, {"images": 239}, where="runs/shapes-1/recipe.toml")
    stored("train/resume-other-data", render_error(caught.value))


def recipe(**train: Any) -> Any:
    return settings.resolve({"data": {"train": "data"}, "train": train}, [])


def test_with_another_metric_the_best_is_chosen_again() -> None:
    before, now = (resume.flatten(recipe(monitor=monitor)) for monitor in ("AP50", "AP"))
    assert resume.changed_best_criteria(before, now) == 'train.monitor was "AP50", is "AP"'
    assert resume.changed_best_criteria(now, now) == ""
