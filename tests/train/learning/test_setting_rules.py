"""Settings with which nothing is learned, and healthy recipes, of which nothing is said."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast import settings
from holdfast.cli.demo.demo_command import _RECIPE as DEMO
from holdfast.train.learning.setting_rules import doubtful_settings

ROOT = Path(__file__).parents[3]
FRESH = ("model.detector=ssd", "train.steps=2000", "train.batch=16")


def doubts(*overrides: str, images: int = 2000) -> list[tuple[str, str]]:
    recipe = settings.resolve({"data": {"train": "data"}}, overrides)
    return [(one.rule, one.setting) for one in doubtful_settings(recipe, images)]


@pytest.mark.parametrize("path", sorted((ROOT / "recipes").glob("*.toml")), ids=lambda path: path.stem)
@pytest.mark.parametrize("images", [150, 240, 5000])
def test_the_recipes_of_the_repository_are_quiet(path: Path, images: int) -> None:
    recipe = settings.read(path)
    enough = (recipe.train.steps or 10**6) * recipe.train.batch
    assert doubtful_settings(recipe, min(images, enough)) == []


def test_the_demo_and_the_defaults_are_quiet(tmp_path: Path) -> None:
    (tmp_path / "recipe.toml").write_text(DEMO.format(steps=150))
    assert doubtful_settings(settings.read(tmp_path / "recipe.toml"), 230) == []
    assert doubts() == []


@pytest.mark.parametrize(
    "overrides",
    [
        ("train.learning_rate=1e-7", "model.weights=coco"),  # fine-tuning at a tiny rate
        ("train.freeze_steps=2000", "model.weights=imagenet", "model.backbone=resnet50"),
        ("train.backbone_rate=0", "model.weights=imagenet", "model.backbone=resnet50"),
        ("train.steps=20", "model.weights=coco"),
        ("train.freeze_steps=200",),
        ("train.optimizer=sgd", "train.learning_rate=0.01", "train.weight_decay=5e-4"),
        ("train.optimizer=sgd", "train.learning_rate=0.02", "train.clip_norm=0"),
        ("train.weight_decay=0.1", "train.steps=200000"),
        ("train.learning_rate=1e-5",),
        ("train.learning_rate=1e-2",),
        ("train.warmup_steps=1000",),
        ("train.early_stopping_patience=5",),
        ("train.epochs=100",),
        ("train.ema=0.99999",),  # it begins with a smaller one
    ],
    ids=" ".join,
)
def test_what_somebody_may_well_mean_is_left_alone(overrides: tuple[str, ...]) -> None:
    assert doubts(*overrides) == []


@pytest.mark.parametrize("images", [1, 8, 100])
def test_few_images_are_no_fault(images: int) -> None:
    assert doubts("train.steps=160", "train.batch=8", images=images) == []


@pytest.mark.parametrize(
    ("overrides", "rule", "setting"),
    [
        (("train.freeze_steps=2000",), "random-backbone-frozen", "freeze_steps"),
        (("train.frozen_stages=2",), "random-backbone-frozen", "frozen_stages"),
        (("train.backbone_rate=0",), "random-backbone-frozen", "backbone_rate"),
        (("train.steps=50",), "too-few-updates", "steps"),
        (("train.epochs=1", "train.batch=512"), "too-few-updates", "epochs"),
        (("train.warmup_steps=2000",), "warmup-never-ends", "warmup_steps"),
        (("train.learning_rate=1e-7",), "weights-cannot-move", "learning_rate"),
        (("train.optimizer=sgd", "train.clip_norm=1e-5"), "weights-cannot-move", "clip_norm"),
        (("train.optimizer=sgd", "train.learning_rate=1e-7"), "weights-cannot-move", "learning_rate"),
        (("train.learning_rate=0.3",), "steps-too-large", "learning_rate"),
        (("train.optimizer=sgd", "train.learning_rate=10"), "steps-too-large", "learning_rate"),
        (
            ("train.optimizer=sgd", "train.learning_rate=10", "train.clip_norm=0", "model.weights=coco"),
            "steps-too-large",
            "learning_rate",
        ),
        (
            ("train.optimizer=sgd", "train.learning_rate=0.1", "train.weight_decay=0.5"),
            "decay-too-strong",
            "weight_decay",
        ),
        (
            ("train.early_stopping_patience=1", "train.validate_every=50", "train.warmup_steps=200"),
            "patience-within-warmup",
            "early_stopping_patience",
        ),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else value,
)
def test_each_fault_by_its_setting(overrides: tuple[str, ...], rule: str, setting: str) -> None:
    assert doubts(*overrides) == [(rule, f"train.{setting}")]


def test_numbers_are_those_of_the_training() -> None:
    recipe = settings.resolve({"data": {"train": "data"}}, ("train.warmup_steps=5000", "train.steps=200"))
    (found,) = doubtful_settings(recipe, 160)
    assert found.value == 5000
    assert found.found == (
        "the warmup is longer than the training of 200 steps: the learning rate comes to 4e-05 and never to the 0.001 "
        "of the recipe"
    )
    assert found.change == "train.warmup_steps = 20, or leave it out"


def test_more_updates_are_enough_epochs() -> None:
    recipe = settings.resolve({"data": {"train": "data"}}, ("train.epochs=2", "train.batch=16"))
    (found,) = doubtful_settings(recipe, 320)
    assert found.found.startswith("40 updates of 16 images are 2.0 passes over 320 images")
    assert found.change.startswith("train.epochs = 50 or more")
