"""From a recipe to everything that the loop takes: data, detector, compiled step, schedule, witnesses."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import keras
from keras import ops

from holdfast.detectors import model_file
from holdfast.detectors.build import Detector, build, suggested_normalization
from holdfast.detectors.spec import DetectorSpec
from holdfast.journal.folder import RunFolder
from holdfast.pipeline import budget, columns
from holdfast.pipeline.cache import PictureCache
from holdfast.pipeline.device import recoloured
from holdfast.pipeline.feed import LIGHT, PLAIN, STRONG, Feed
from holdfast.pipeline.stream import Stream
from holdfast.settings.recipe import Recipe
from holdfast.train import prepare
from holdfast.train.cadence import every
from holdfast.train.checkpoints import BEST, pointed, read
from holdfast.train.loop import Plan
from holdfast.train.network import Network, names_of
from holdfast.train.schedules import Schedule, usual_warmup
from holdfast.train.step import Step
from holdfast.train.update import Rule

AUGMENTS = {"none": PLAIN, "light": LIGHT, "strong": STRONG}
MODEL_FILE = "model.npz"


@dataclass(frozen=True)
class Data:
    train: Stream
    validation: Stream
    how: str


def data(recipe: Recipe, *, frugal: bool = False) -> Data:
    """Both streams. `frugal` keeps no pictures in memory, after it ran out."""
    parts = prepare.sets(recipe)
    size, batch = recipe.model.input, recipe.train.batch
    fit = DetectorSpec(
        recipe.model.detector, recipe.model.backbone, parts.train.classes, (size, size)
    ).resizing
    feed = Feed(size, size, batch, seed=recipe.train.seed, fit=fit, augment=AUGMENTS[recipe.data.augment])  # type: ignore[arg-type]
    trained = columns.of_dataset(parts.train)
    # A decoded cache rounds pixels in its own way and depends on free memory: not where bits must repeat.
    kind = "none" if frugal or recipe.train.deterministic else budget.decide_for(trained, feed).kind
    held = Feed(size, size, min(batch, 16), shuffle=False, endless=False, fit=fit)  # type: ignore[arg-type]
    return Data(
        Stream(trained, feed, cache=PictureCache(kind)),
        Stream(columns.of_dataset(parts.validation), held),
        parts.how,
    )


def detector(recipe: Recipe, classes: tuple[str, ...]) -> tuple[Detector, str]:
    """The model, and a sentence about where its weights came from."""
    model, train = recipe.model, recipe.train
    weights, size = model.weights, (model.input, model.input)
    saved = _saved_model(weights)
    if saved is not None:
        made, fitted = model_file.fine_tune(saved, classes, input_size=size)
        return made, f"weights from {saved}: {fitted.summary()}"
    spec = DetectorSpec(
        model.detector, model.backbone, classes, size, precision=train.precision,
        normalization=suggested_normalization(model.backbone, weights),
    )  # fmt: skip
    return build(
        spec, weights, seed=train.seed
    ), f"backbone weights from {weights}" if weights else "fresh weights"


def _saved_model(weights: str | None) -> Path | None:
    """A run's folder, or a model file that training wrote."""
    path = Path(weights) if weights else None
    if path is not None and path.is_dir() and (path / MODEL_FILE).is_file():
        return path / MODEL_FILE
    return path if path is not None and path.suffix == ".npz" and path.is_file() else None


def network(model: Detector, recipe: Recipe) -> Network:
    colours = AUGMENTS[recipe.data.augment].changes_colour
    seed = recipe.train.seed % 2**16

    def losses(batch: Mapping[str, Any]) -> dict[str, Any]:
        images = recoloured(batch["images"], batch["colour"]) if colours else batch["images"]
        number = ops.cast(batch["image"], "int32") if "image" in batch else 0
        return model.losses_of(
            {
                "images": images, "boxes": batch["boxes"], "labels": batch["labels"], "real": batch["real"],
                "crowd": batch["crowd"], "seeds": batch["step"] * 7919 + number + seed,
            }
        )  # fmt: skip

    return Network(model, losses, held_first=(f"{model.backbone.name}/",))


def rule(recipe: Recipe) -> Rule:
    train = recipe.train
    return Rule(
        optimizer=train.optimizer,
        weight_decay=train.weight_decay,
        clip_norm=train.clip_norm or None,
        ema=train.ema or None,
        loss_scaling=train.precision == "float16",
        tolerated=train.nonfinite_limit if train.on_nonfinite == "skip" else 0,
    )


def step(net: Network, recipe: Recipe, micro_batch: int | None) -> Step:
    batch, wanted = recipe.train.batch, recipe.train.micro_batch
    micro = micro_batch or (wanted if isinstance(wanted, int) else batch)
    if recipe.train.backend == "jax":
        from holdfast.train.step_jax import JaxStep

        return JaxStep(net, rule(recipe), batch=batch, micro_batch=micro)
    import tensorflow as tf

    from holdfast.train.step_tensorflow import TensorFlowStep

    on_gpu = bool(tf.config.list_physical_devices("GPU"))
    return TensorFlowStep(net, rule(recipe), batch=batch, micro_batch=micro, jit=on_gpu)


def plan(recipe: Recipe, folder: RunFolder, images: int) -> Plan:
    train = recipe.train
    steps = train.steps or max(1, -(-int(train.epochs or 1) * images // train.batch))
    warmup = usual_warmup(steps) if train.warmup_steps is None else train.warmup_steps
    return Plan(
        name=folder.name, steps=steps, batch=train.batch, images=images,
        schedule=Schedule(train.schedule, train.learning_rate, steps, warmup),
        checkpoint=every(train.checkpoint_every), validate=every(train.validate_every),
        held_steps=train.freeze_steps, monitor=train.monitor, patience=train.early_stopping_patience,
        min_delta=train.early_stopping_min_delta, on_nonfinite=train.on_nonfinite,
        nonfinite_limit=train.nonfinite_limit, precision=train.precision,
    )  # fmt: skip


@contextlib.contextmanager
def serving(made: Step) -> Iterator[None]:
    """The Keras model with the weights that are validated: the average where there is one, else its own."""
    groups = made.export()
    if "ema" not in groups:
        yield
        return
    net: Network = made.network  # type: ignore[attr-defined]
    named = list(zip(names_of(net.trainable), net.trainable, strict=True))
    try:
        for name, variable in named:
            variable.assign(groups["ema"][name])
        yield
    finally:
        for name, variable in named:
            variable.assign(groups["weights"][name])


def write_model(model: Detector, folder: RunFolder) -> Path:
    """The weights to use: the best checkpoint's where there was a validation, else those of the end."""
    best = pointed(folder.checkpoints, BEST)
    variables: list[Any] = [*model.trainable_variables, *model.non_trainable_variables]
    if best is not None:
        groups = read(best).groups
        for name, variable in zip(names_of(variables), variables, strict=True):
            variable.assign(groups.get("ema", {}).get(name, groups["weights"][name]))
    path = folder.path / MODEL_FILE
    model_file.save(model, path)
    return path


def deterministic(seed: int) -> None:
    """The same bits every time, on the CPU and, where TensorFlow can, on a GPU."""
    keras.utils.set_random_seed(seed)
    import tensorflow as tf

    tf.config.experimental.enable_op_determinism()


def leave_gpus_to_jax() -> None:
    """The pipeline is TensorFlow's, which would take all the memory of a GPU that it sees."""
    import tensorflow as tf

    tf.config.set_visible_devices([], "GPU")
