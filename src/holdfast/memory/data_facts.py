"""What a recipe and its data say about memory: the setup of its step, and what the pipeline will hold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from holdfast.detectors.model_paths import initial_model, read_spec
from holdfast.errors import HoldfastError
from holdfast.memory.host_memory import HostFacts
from holdfast.memory.step_config import StepConfig
from holdfast.settings.recipe import Recipe

ASSUMED_BOXES, ASSUMED_CLASSES = 100, 80


@dataclass(frozen=True, slots=True)
class DataFacts:
    """Of the whole training set: the most crowded picture and the largest, not the average."""

    classes: int
    boxes: int  # rows that every picture's boxes are padded to
    pictures: int
    validation_pictures: int
    largest_picture: int  # bytes, decoded
    cache: int
    cache_kind: str
    said: str  # where this is from
    sent_pixels: int = 0  # of a picture, where the step resizes it


def read_data_facts(recipe: Recipe, *, on_gpu: bool) -> DataFacts:
    """Reads the data's annotations and headers; where it is not on this machine, assumes and says so."""
    try:
        return _read(recipe, on_gpu)
    except HoldfastError as error:
        classes = len(recipe.data.classes or ()) or ASSUMED_CLASSES
        said = (
            f"the data could not be read here ({error.what}); assumed are {classes} classes and pictures with at most "
            f"{ASSUMED_BOXES} boxes"
        )
        return DataFacts(classes, ASSUMED_BOXES, 0, 0, 0, 0, "no", said, _max_sent_pixels(recipe, on_gpu))


def _max_sent_pixels(recipe: Recipe, on_gpu: bool) -> int:
    from holdfast.pipeline.image_sizes import MAX_SENT_FACTOR
    from holdfast.train import dataset_setup

    return (
        MAX_SENT_FACTOR * recipe.model.input**2
        if dataset_setup.may_resize_on_device(recipe, on_gpu=on_gpu)
        else 0
    )


def _read(recipe: Recipe, on_gpu: bool) -> DataFacts:
    from holdfast.pipeline import cache_budget, dataset_columns
    from holdfast.pipeline.image_sizes import decoded_sizes
    from holdfast.train import dataset_setup

    sets, feed = dataset_setup.load_splits(recipe), dataset_setup.build_feed(recipe)
    trained = dataset_columns.columns_of(sets.train)
    boxes = max(1, trained.fullest) * (4 if feed.augment.mosaic else 1)
    sizes = decoded_sizes(trained, feed).prod(axis=1) * 3
    decision = cache_budget.decide_for(trained, feed)
    kind = "none" if recipe.train.deterministic else decision.kind
    cache = {"none": 0, "decoded": int(sizes.sum()), "encoded": int(trained.lengths.sum())}[kind]
    said = f"{len(trained)} pictures, {len(trained.classes)} classes, {trained.fullest} boxes in the most crowded one"
    return DataFacts(
        len(trained.classes), boxes, len(trained), len(sets.validation.records), int(sizes.max(initial=0)), cache,
        kind, said, dataset_setup.with_sent_pixels(recipe, trained, feed, on_gpu=on_gpu).sent_pixels or 0,
    )  # fmt: skip


def step_config_of(recipe: Recipe, data: DataFacts) -> StepConfig:
    model, train = recipe.model, recipe.train
    wanted: Any = train.micro_batch
    # As `detectors.build.suggested_normalization`, which is not asked since it would bring Keras in.
    stored = model.weights is not None or model.backbone == "vgg16"
    saved = initial_model(model.weights)
    own = read_spec(saved).get("normalization") if saved is not None else None
    return StepConfig(
        detector=model.detector, backbone=model.backbone, input=model.input, classes=data.classes, boxes=data.boxes,
        batch=train.batch, micro_batch=wanted if isinstance(wanted, int) else train.batch,
        precision=train.precision, optimizer=train.optimizer, ema=bool(train.ema),
        normalization=own or ("frozen-batch" if stored else "group"),
        rematerialise=train.rematerialise,
        changes_colour=recipe.data.augment != "none", backend=train.backend, sent_pixels=data.sent_pixels,
    )  # fmt: skip


def host_facts_of(recipe: Recipe, data: DataFacts, *, state_bytes: int, on_card: bool) -> HostFacts:
    from holdfast.host.process_limits import usable_cores

    return HostFacts(
        batch=recipe.train.batch, picture_pixels=data.sent_pixels or recipe.model.input**2, boxes=data.boxes,
        threads=usable_cores(),
        largest_picture=data.largest_picture, cache=data.cache, cache_kind=data.cache_kind, state=state_bytes,
        validation_pictures=data.validation_pictures, jax=recipe.train.backend == "jax", on_card=on_card,
    )  # fmt: skip
