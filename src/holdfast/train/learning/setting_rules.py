"""Settings with which no detector of a recipe learns, whatever the data: known before the first step.

`holdfast check RECIPE` shows them, and the trainer records them, so that `explain` can name one where a run has found
nothing. A rule speaks only where arithmetic leaves no way out: fine-tuning at a tiny learning rate, a frozen backbone
with pretrained weights and a short trial are left alone.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

from holdfast.settings.recipe import Recipe
from holdfast.train.intervals import parse_interval
from holdfast.train.schedules import Schedule, default_warmup, learning_rate_of

#: RMS of the kernels of a fresh detector. Of an SSD on MobileNetV2, the smallest here, the middle one has 0.042, and
#: eight of ten have 0.01 to 0.11.
FRESH_WEIGHT = 0.05
#: Euclidean norm of all kernels of the same detector: 93; others have more weights.
FRESH_NORM = 80.0
#: Of its size: a network whose weights can move by less in the whole training is the one that it began as.
HARDLY_MOVED = 0.02
#: A step that changes weights by this share of their size loses what was learned before; about 0.001 is usual.
LEAP = 0.5
#: SGD with momentum of 0.9 moves ten times as far as its gradients alone.
MOMENTUM_TIMES = 10.0
#: SGD's learning rate without clipping, above any that is in use.
HIGHEST_SGD_RATE = 1.0
#: What is left of a weight that no gradient restores.
PRESSED_TO = 0.05
#: Updates below which a network from random weights has only begun. The shortest recipe of ours has 160.
FEWEST_UPDATES = 100


class DoubtfulSetting(NamedTuple):
    """One setting, what follows from it, and what to change."""

    rule: str  # a slug of `data.finding_kinds`
    setting: str  # "train.learning_rate"
    value: Any
    found: str
    change: str


class _Course(NamedTuple):
    """The learning rate over the training."""

    steps: int
    warmup: int
    total: float  # the sum of the learning rates of all steps
    highest: float


def doubtful_settings(recipe: Recipe, images: int) -> list[DoubtfulSetting]:
    """Of a recipe for so many training images."""
    course = _course(recipe, images)
    found = [*_frozen(recipe, course), *_few_updates(recipe, course, images), *_decay(recipe, course)]
    too_high = list(_too_high(recipe, course))
    warmup = [] if too_high else list(_warmup(recipe, course))
    slow = [] if found or warmup or too_high else list(_too_low(recipe, course))
    return [*found, *too_high, *warmup, *slow, *_patience(recipe, course)]


def _course(recipe: Recipe, images: int) -> _Course:
    train = recipe.train
    steps = train.steps or max(1, -(-int(train.epochs or 1) * images // train.batch))
    warmup = default_warmup(steps) if train.warmup_steps is None else train.warmup_steps
    schedule = Schedule(train.schedule, train.learning_rate, steps, warmup)
    # At equal distances: a schedule is smooth, and a training may have a million steps.
    every = max(1, steps // 2000)
    rates = [learning_rate_of(schedule, step) for step in range(0, steps, every)]
    return _Course(steps, warmup, sum(rates) / len(rates) * steps, max(rates))


def _frozen(recipe: Recipe, course: _Course) -> Iterator[DoubtfulSetting]:
    """Heads on random features learn next to nothing. Pretrained features are there to be kept."""
    train = recipe.train
    if recipe.model.weights is not None:
        return
    settings = (
        ("freeze_steps", train.freeze_steps >= course.steps, f"never trains in the {course.steps} steps"),
        ("backbone_rate", train.backbone_rate == 0, "never trains: its learning rate is 0"),
        (
            "frozen_stages",
            bool(train.frozen_stages),
            f"never trains in its first stages ({train.frozen_stages})",
        ),
    )
    for name, applies, said in settings:
        if applies:
            yield DoubtfulSetting(
                "random-backbone-frozen", f"train.{name}", getattr(train, name),
                f"the backbone starts from random weights and {said}",
                f'leave train.{name} out, or give pretrained weights: model.weights = "imagenet" or "coco"',
            )  # fmt: skip


def _few_updates(recipe: Recipe, course: _Course, images: int) -> Iterator[DoubtfulSetting]:
    seen, train = course.steps * recipe.train.batch, recipe.train
    if recipe.model.weights is not None or (course.steps >= FEWEST_UPDATES and seen >= images):
        return
    name = "steps" if train.epochs is None else "epochs"
    passes = f"{seen / images:.1f} passes over {images} images" if images else "no image"
    enough = max(10 * FEWEST_UPDATES, -(-10 * images // train.batch))
    more = enough if name == "steps" else max(10, -(-enough * train.batch // max(1, images)))
    updates = f"{course.steps} update{'s' if course.steps > 1 else ''}"
    yield DoubtfulSetting(
        "too-few-updates", f"train.{name}", getattr(train, name),
        f"{updates} of {train.batch} images are {passes}, for a network that starts from random weights",
        f"train.{name} = {more} or more, or pretrained weights (model.weights)",
    )  # fmt: skip


def _warmup(recipe: Recipe, course: _Course) -> Iterator[DoubtfulSetting]:
    if course.warmup < course.steps or course.steps < 2:
        return
    yield DoubtfulSetting(
        "warmup-never-ends", "train.warmup_steps", course.warmup,
        f"the warmup is longer than the training of {course.steps} steps: the learning rate comes to "
        f"{course.highest:.2g} and never to the {recipe.train.learning_rate:g} of the recipe",
        f"train.warmup_steps = {default_warmup(course.steps)}, or leave it out",
    )  # fmt: skip


def _too_low(recipe: Recipe, course: _Course) -> Iterator[DoubtfulSetting]:
    """The farthest that the optimizer can move fresh weights, if all steps go the same way."""
    train = recipe.train
    if recipe.model.weights is not None:
        return
    if train.optimizer == "adamw":
        share, by = course.total / FRESH_WEIGHT, "AdamW moves a weight by about the learning rate a step"
    elif train.clip_norm:
        share = course.total * train.clip_norm * MOMENTUM_TIMES / FRESH_NORM
        by = f"SGD moves by the learning rate times a gradient that is clipped to a norm of {train.clip_norm:g}"
    else:
        return
    if share >= HARDLY_MOVED:
        return
    clipped = train.optimizer == "sgd" and train.clip_norm < 1
    setting = "clip_norm" if clipped else "learning_rate"
    usual = "10" if clipped else "1e-3" if train.optimizer == "adamw" else "1e-2"
    yield DoubtfulSetting(
        "weights-cannot-move", f"train.{setting}", getattr(train, setting),
        f"all {course.steps} steps together can change random weights by {share:.2g} of their size at most: {by}",
        f"train.{setting} = {usual}; `holdfast lr-find RECIPE` suggests a learning rate",
    )  # fmt: skip


def _too_high(recipe: Recipe, course: _Course) -> Iterator[DoubtfulSetting]:
    train, rate = recipe.train, course.highest
    if train.optimizer == "adamw":
        leaps = rate / FRESH_WEIGHT >= LEAP
        said = f"AdamW moves every weight by about {rate:.2g} a step, and weights are about {FRESH_WEIGHT:g}"
    elif train.clip_norm:
        leaps = rate * train.clip_norm / FRESH_NORM >= LEAP
        said = (
            f"a step of SGD may move the weights by {rate * train.clip_norm:.2g}, and their norm is about 80"
        )
    else:
        leaps, said = (
            rate > HIGHEST_SGD_RATE,
            f"nothing limits a step of SGD, and {rate:.2g} is above any rate in use",
        )
    if leaps:
        usual = "1e-3" if train.optimizer == "adamw" else "1e-2"
        yield DoubtfulSetting(
            "steps-too-large", "train.learning_rate", train.learning_rate, said,
            f"train.learning_rate = {usual}; `holdfast lr-find RECIPE` suggests one",
        )  # fmt: skip


def _decay(recipe: Recipe, course: _Course) -> Iterator[DoubtfulSetting]:
    """AdamW's steps have the size of the learning rate and win against any decay up to 1; SGD's have that of the
    gradient."""
    train = recipe.train
    left = math.exp(-train.weight_decay * course.total)
    if train.optimizer != "sgd" or left >= PRESSED_TO:
        return
    yield DoubtfulSetting(
        "decay-too-strong", "train.weight_decay", train.weight_decay,
        f"over {course.steps} steps the decay leaves {left:.2g} of a weight that no gradient restores",
        "train.weight_decay = 1e-4",
    )  # fmt: skip


def _patience(recipe: Recipe, course: _Course) -> Iterator[DoubtfulSetting]:
    """The first validation sets the mark; so many more without a better one end the training."""
    patience, every = recipe.train.early_stopping_patience, parse_interval(recipe.train.validate_every).steps
    if patience is None or every is None or (patience + 1) * every >= min(course.warmup, course.steps):
        return
    yield DoubtfulSetting(
        "patience-within-warmup", "train.early_stopping_patience", patience,
        f"early stopping may end the training at step {(patience + 1) * every}, before the warmup of {course.warmup} "
        "steps has ended",
        f"train.early_stopping_patience = {-(-course.warmup // every) + patience}, or validate more seldom",
    )  # fmt: skip
