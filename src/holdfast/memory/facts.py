"""What a recipe and its data say about memory: the setup of its step, and what the pipeline will hold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from holdfast.detectors.model_place import described, to_go_on_from
from holdfast.errors import HoldfastError
from holdfast.memory.host import HostFacts
from holdfast.memory.setup import Setup
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


def of_data(recipe: Recipe, *, on_gpu: bool) -> DataFacts:
    """Reads the data's annotations and headers; where it is not on this machine, assumes and says so."""
    try:
        return _read(recipe, on_gpu)
    except HoldfastError as error:
        classes = len(recipe.data.classes or ()) or ASSUMED_CLASSES
        said = (
            f"the data could not be read here ({error.what}); assumed are {classes} classes and pictures with at most "
            f"{ASSUMED_BOXES} boxes"
        )
        return DataFacts(classes, ASSUMED_BOXES, 0, 0, 0, 0, "no", said, _most_sent(recipe, on_gpu))


def _most_sent(recipe: Recipe, on_gpu: bool) -> int:
    from holdfast.pipeline.sizes import MOST_SENT
    from holdfast.train import prepare

    return MOST_SENT * recipe.model.input**2 if prepare.may_send(recipe, on_gpu=on_gpu) else 0


def _read(recipe: Recipe, on_gpu: bool) -> DataFacts:
    from holdfast.pipeline import budget, columns
    from holdfast.pipeline.sizes import decoded_sizes
    from holdfast.train import prepare

    sets, feed = prepare.sets(recipe), prepare.feed(recipe)
    trained = columns.of_dataset(sets.train)
    boxes = max(1, trained.fullest) * (4 if feed.augment.mosaic else 1)
    sizes = decoded_sizes(trained, feed).prod(axis=1) * 3
    decision = budget.decide_for(trained, feed)
    kind = "none" if recipe.train.deterministic else decision.kind
    cache = {"none": 0, "decoded": int(sizes.sum()), "encoded": int(trained.lengths.sum())}[kind]
    said = f"{len(trained)} pictures, {len(trained.classes)} classes, {trained.fullest} boxes in the most crowded one"
    return DataFacts(
        len(trained.classes), boxes, len(trained), len(sets.validation.records), int(sizes.max(initial=0)), cache,
        kind, said, prepare.sent(recipe, trained, feed, on_gpu=on_gpu).sent_pixels or 0,
    )  # fmt: skip


def setup_of(recipe: Recipe, data: DataFacts) -> Setup:
    model, train = recipe.model, recipe.train
    wanted: Any = train.micro_batch
    # As `detectors.build.suggested_normalization`, which is not asked since it would bring Keras in.
    stored = model.weights is not None or model.backbone == "vgg16"
    saved = to_go_on_from(model.weights)
    own = described(saved).get("normalization") if saved is not None else None
    return Setup(
        detector=model.detector, backbone=model.backbone, input=model.input, classes=data.classes, boxes=data.boxes,
        batch=train.batch, micro_batch=wanted if isinstance(wanted, int) else train.batch,
        precision=train.precision, optimizer=train.optimizer, ema=bool(train.ema),
        normalization=own or ("frozen-batch" if stored else "group"),
        rematerialise=train.rematerialise,
        changes_colour=recipe.data.augment != "none", backend=train.backend, sent_pixels=data.sent_pixels,
    )  # fmt: skip


def host_of(recipe: Recipe, data: DataFacts, *, state_bytes: int, on_card: bool) -> HostFacts:
    from holdfast.pipeline.machine import usable_cores

    return HostFacts(
        batch=recipe.train.batch, picture_pixels=data.sent_pixels or recipe.model.input**2, boxes=data.boxes,
        threads=usable_cores(),
        largest_picture=data.largest_picture, cache=data.cache, cache_kind=data.cache_kind, state=state_bytes,
        validation_pictures=data.validation_pictures, jax=recipe.train.backend == "jax", on_card=on_card,
    )  # fmt: skip
