"""From a recipe to everything that the loop takes: data, detector, compiled step, schedule, witnesses."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import keras
import numpy as np

from holdfast.detectors import model_file
from holdfast.detectors.anchors import anchor_fit
from holdfast.detectors.build import Detector, build, suggested_normalization
from holdfast.detectors.model_paths import MODEL_NAME, initial_model
from holdfast.detectors.spec import DetectorSpec
from holdfast.journal.folder import RunFolder
from holdfast.pipeline import cache_budget, data_service, dataset_columns
from holdfast.pipeline.cache_budget import CacheDecision
from holdfast.pipeline.feed import PLAIN, Feed
from holdfast.pipeline.image_cache import ImageCache
from holdfast.pipeline.pack import PackIndex
from holdfast.pipeline.stream import BadImage, Stream
from holdfast.settings.recipe import Recipe
from holdfast.step.network import Network, detector_network, names_of
from holdfast.step.optimizer import OptimizerConfig
from holdfast.step.step_protocol import TrainStep
from holdfast.train import dataset_setup
from holdfast.train.checkpoint.checkpoint_files import BEST, CorruptCheckpoint, read, read_pointer
from holdfast.train.intervals import parse_interval
from holdfast.train.loop import TrainingPlan
from holdfast.train.process_group import ProcessGroup
from holdfast.train.schedules import Schedule, default_warmup


@dataclass(frozen=True)
class TrainingData:
    train: Stream
    validation: Stream
    how: str


def build_data(
    recipe: Recipe, *, frugal: bool = False, share: tuple[int, int] = (0, 1), packed_from: int | None = 0,
    on_bad: Callable[[BadImage], None] | None = None, on_packed: Callable[[int, int], None] | None = None,
) -> TrainingData:  # fmt: skip
    """Both streams. `share` is a process's part of how many; a packed copy, where there is one, is read from the epoch
    `packed_from` on; where there is none and one would serve, it is made beside the run, and `on_packed` is told.

    `frugal`, after memory ran out, keeps no pictures in it, decodes one at a time and validates few at once. `on_bad`
    is told of pictures that cannot be decoded, as far as the recipe lets them pass.
    """
    parts = dataset_setup.load_splits(recipe)
    feed = dataset_setup.build_feed(recipe, share=share)
    held = replace(
        feed, batch=min(feed.batch, 4 if frugal else 16), seed=0, shuffle=False, endless=False, augment=PLAIN
    )
    trained = dataset_columns.columns_of(parts.train)
    feed = dataset_setup.with_sent_pixels(recipe, trained, feed, on_gpu=on_gpu(recipe.train.backend))
    packed = dataset_setup.find_pack(trained, feed, packed_from) if packed_from is not None else None
    # A decoded cache rounds pixels in its own way and depends on free memory: not where bits must repeat.
    kept = (
        CacheDecision("none", "")
        if frugal or recipe.train.deterministic
        else cache_budget.decide_for(trained, feed)
    )
    kept = CacheDecision("none", "") if packed is not None and kept.kind != "decoded" else kept
    servers = tuple(recipe.hardware.data_service or ())
    if servers:
        data_service.require_reachable(servers)
        kept = CacheDecision("none", "")
    # Several processes would change over at different steps, and a run that must repeat its bits at another each time.
    alone = share[1] == 1 and not servers and not recipe.train.deterministic and not frugal
    beside = dataset_setup.pack_in_background(trained, feed) if kept.pack and alone and on_packed else None
    how: dict[str, Any] = {
        "skip_bad": recipe.data.skip_bad, "on_bad": on_bad, "threads": 1 if frugal else None
    }  # fmt: skip
    return TrainingData(
        Stream(
            trained,
            feed,
            cache=ImageCache(kept.kind),
            packed=packed,
            servers=servers,
            beside=beside,
            on_packed=on_packed,
            **how,
        ),
        Stream(dataset_columns.columns_of(parts.validation), held, **how),
        "; ".join(
            [parts.how, *_transfer_notes(feed), *_cache_notes(kept, packed, servers, beside is not None)]
        ),
    )


def _transfer_notes(feed: Feed) -> list[str]:
    if feed.sent_pixels is None:
        return []
    times = feed.sent_pixels / (feed.height * feed.width)
    return [f"pictures are resized in the compiled step, each sent in {times:.1f} times the image's pixels"]


def _cache_notes(
    kept: CacheDecision, packed: PackIndex | None, servers: tuple[str, ...], beside: bool
) -> list[str]:
    """In words, where it is not the plain way."""
    said = [f"{len(packed.rows)} large pictures are read from their packed copies"] if packed else []
    if servers:
        said.append(f"training batches are made by {', '.join(servers)}")
    if kept.kind != "none":
        said.append(f"pictures are kept in memory ({kept.kind}): {kept.why}")
    elif beside:
        said.append("small copies of the large pictures are made beside the first epoch, for the later ones")
    elif kept.pack:
        said.append(f"{kept.why}: `holdfast data pack RECIPE` makes one")
    return said


def build_detector(recipe: Recipe, trained: dataset_columns.Columns) -> tuple[Detector, str]:
    """The model, and a sentence about where its weights and anchors came from."""
    model, train = recipe.model, recipe.train
    weights, size = model.weights, (model.input, model.input)
    saved = initial_model(weights)
    if saved is not None:
        made, fitted = model_file.fine_tune(
            saved, trained.classes, input_size=size, precision=train.precision, rematerialise=train.rematerialise,
            seed=train.seed, expected={"model.detector": model.detector, "model.backbone": model.backbone},
        )  # fmt: skip
        kept = "; its anchors are kept, and none fitted" if model.anchors == "fitted" else ""
        return made, f"weights from {saved}: {fitted.summary()}{kept}"
    spec = DetectorSpec(
        model.detector, model.backbone, trained.classes, size, precision=train.precision,
        normalization=suggested_normalization(model.backbone, weights), rematerialise=train.rematerialise,
    )  # fmt: skip
    whence = f"backbone weights from {weights}" if weights else "fresh weights"
    if model.anchors == "fitted":
        objects = ~trained.crowds
        shapes, said = anchor_fit.anchors_for_training(
            spec, trained.boxes[objects], _image_sizes(trained)[objects]
        )
        spec, whence = replace(spec, anchors=shapes), f"{whence}; {said}"
    return build(spec, weights, seed=train.seed), whence


def _image_sizes(trained: dataset_columns.Columns) -> Any:
    """(k, 2) each box's picture's width and height."""
    return np.repeat(trained.sizes, np.diff(trained.first), axis=0)


def build_network(model: Detector, recipe: Recipe) -> Network:
    colours = dataset_setup.AUGMENTS[recipe.data.augment].changes_colour
    return detector_network(model, changes_colour=colours, seed=recipe.train.seed)


def optimizer_config(recipe: Recipe) -> OptimizerConfig:
    train = recipe.train
    return OptimizerConfig(
        optimizer=train.optimizer,
        weight_decay=train.weight_decay,
        clip_norm=train.clip_norm or None,
        ema=train.ema or None,
        loss_scaling=train.precision == "float16",
        tolerated=train.nonfinite_limit if train.on_nonfinite == "skip" else 0,
        held_rate=backbone_lr_factor(recipe),
    )


def backbone_lr_factor(recipe: Recipe) -> float:
    """Of the learning rate. At the full rate of fresh heads, pretrained layers with frozen statistics drift apart:
    in 400 steps at 1e-3 every unit of MobileNetV2's last layer stood at 0 or 6, whatever the picture."""
    given = recipe.train.backbone_rate
    return given if given is not None else 0.1 if recipe.model.weights else 1.0


def build_step(
    net: Network, recipe: Recipe, micro_batch: int | None, peers: ProcessGroup | None = None
) -> TrainStep:
    batch, wanted = recipe.train.batch, recipe.train.micro_batch
    micro = micro_batch or (wanted if isinstance(wanted, int) else batch)
    if recipe.train.backend == "jax":
        if peers is not None or recipe.hardware.devices > 1:
            from holdfast.step.jax_distributed import DistributedJaxStep

            return DistributedJaxStep(
                net,
                optimizer_config(recipe),
                batch=batch,
                micro_batch=micro,
                per_process=recipe.hardware.devices,
                peers=peers,
            )
        from holdfast.step.jax_step import JaxStep

        return JaxStep(net, optimizer_config(recipe), batch=batch, micro_batch=micro)
    if recipe.hardware.devices > 1:
        from holdfast.step.tensorflow_mirrored import MirroredStep, devices_of_host

        places = devices_of_host(recipe.hardware.devices)
        return MirroredStep(net, optimizer_config(recipe), batch=batch, micro_batch=micro, devices=places)
    from holdfast.step.tensorflow_step import TensorFlowStep

    return TensorFlowStep(
        net, optimizer_config(recipe), batch=batch, micro_batch=micro, jit=on_gpu(recipe.train.backend)
    )


def build_plan(recipe: Recipe, folder: RunFolder, images: int) -> TrainingPlan:
    train = recipe.train
    steps = train.steps or max(1, -(-int(train.epochs or 1) * images // train.batch))
    warmup = default_warmup(steps) if train.warmup_steps is None else train.warmup_steps
    return TrainingPlan(
        name=folder.name, steps=steps, batch=train.batch, images=images,
        schedule=Schedule(train.schedule, train.learning_rate, steps, warmup),
        checkpoint=parse_interval(train.checkpoint_every), validate=parse_interval(train.validate_every),
        held_steps=train.freeze_steps, monitor=train.monitor, patience=train.early_stopping_patience,
        min_delta=train.early_stopping_min_delta, on_nonfinite=train.on_nonfinite,
        nonfinite_limit=train.nonfinite_limit, precision=train.precision,
    )  # fmt: skip


@contextlib.contextmanager
def serving_weights(made: TrainStep) -> Iterator[None]:
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


def write_model(model: Detector, folder: RunFolder, best_step: int | None = None) -> tuple[Path, str]:
    """The weights to use: the best checkpoint's where there was a validation, else those of the end; and a sentence
    where those of `best_step`, the best, cannot be had."""
    best, why, has = read_pointer(folder.checkpoints, BEST), "its checkpoint is gone", "the end"
    variables: list[Any] = [*model.trainable_variables, *model.non_trainable_variables]
    if best is not None:
        try:
            groups = read(best).groups
            has = best.name.replace("-", " ")
            for name, variable in zip(names_of(variables), variables, strict=True):
                variable.assign(groups.get("ema", {}).get(name, groups["weights"][name]))
        except CorruptCheckpoint as torn:
            why = f"its checkpoint is not whole: {torn}"
    path = folder.path / MODEL_NAME
    model_file.save(model, path)
    if best_step is None or has == f"step {best_step}":
        return path, ""
    return path, f"step {best_step} was the best in validation, and {why}; the model has the weights of {has}"


def make_deterministic(seed: int) -> None:
    """The same bits every time, on the CPU and, where TensorFlow can, on a GPU."""
    keras.utils.set_random_seed(seed)
    import tensorflow as tf

    tf.config.experimental.enable_op_determinism()
    # It would make an `AddN` of a chain of additions; see `step_tensorflow.summed`.
    tf.config.optimizer.set_experimental_options({"arithmetic_optimization": False})


def on_gpu(backend: str) -> bool:
    """Whether steps are computed on a GPU here."""
    if backend == "jax":
        import jax

        return bool(jax.devices()[0].platform == "gpu")
    import tensorflow as tf

    return bool(tf.config.list_physical_devices("GPU"))


def hide_gpus_from_tensorflow() -> None:
    """The pipeline is TensorFlow's, which would take all the memory of a GPU that it sees."""
    import tensorflow as tf

    tf.config.set_visible_devices([], "GPU")
