"""Reads what memory prediction needs to know about a recipe's data."""

from __future__ import annotations

from holdfast.errors import HoldfastError
from holdfast.memory.data_facts import ASSUMED_BOXES, ASSUMED_CLASSES, DataFacts
from holdfast.pipeline import cache_budget, dataset_columns
from holdfast.pipeline.image_sizes import MAX_SENT_FACTOR, decoded_sizes
from holdfast.settings.recipe import Recipe
from holdfast.train import dataset_setup


def read_data_facts(recipe: Recipe, *, on_gpu: bool) -> DataFacts:
    """From annotations and image headers. When the data is not on this machine, assumed values and a note."""
    try:
        return _read(recipe, on_gpu)
    except HoldfastError as error:
        classes = len(recipe.data.classes or ()) or ASSUMED_CLASSES
        notes = (
            f"the data could not be read here ({error.what}); assumed: {classes} classes, at most "
            f"{ASSUMED_BOXES} boxes in an image"
        )
        return DataFacts(classes, ASSUMED_BOXES, 0, 0, 0, 0, "no", notes, _max_sent_pixels(recipe, on_gpu))


def _max_sent_pixels(recipe: Recipe, on_gpu: bool) -> int:
    if not dataset_setup.may_resize_on_device(recipe, on_gpu=on_gpu):
        return 0
    return MAX_SENT_FACTOR * recipe.model.input**2


def _read(recipe: Recipe, on_gpu: bool) -> DataFacts:
    splits, feed = dataset_setup.load_splits(recipe), dataset_setup.build_feed(recipe)
    trained = dataset_columns.columns_of(splits.train)
    boxes = max(1, trained.fullest) * (4 if feed.augment.mosaic else 1)
    sizes = decoded_sizes(trained, feed).prod(axis=1) * 3
    decision = cache_budget.decide_for(trained, feed)
    kind = "none" if recipe.train.deterministic else decision.kind
    cache = {"none": 0, "decoded": int(sizes.sum()), "encoded": int(trained.lengths.sum())}[kind]
    notes = (
        f"{len(trained)} images, {len(trained.classes)} classes, at most {trained.fullest} boxes in an image"
    )
    return DataFacts(
        len(trained.classes), boxes, len(trained), len(splits.validation.records), int(sizes.max(initial=0)), cache,
        kind, notes, dataset_setup.with_sent_pixels(recipe, trained, feed, on_gpu=on_gpu).sent_pixels or 0,
    )  # fmt: skip
