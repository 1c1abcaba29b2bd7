"""Builds everything that the loop needs from a recipe: data, detector, compiled step, plan, displays."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import keras
import numpy as np

from holdfast.detectors import model_file
from holdfast.detectors.anchors import anchor_fit
from holdfast.detectors.build import Detector, build
from holdfast.detectors.model_paths import MODEL_NAME, initial_model
from holdfast.detectors.spec import DetectorSpec, suggested_normalization
from holdfast.detectors.variants import frozen_stages
from holdfast.journal.folder import RunFolder
from holdfast.pipeline import cache_budget, dataset_columns
from holdfast.pipeline.cache_budget import CacheDecision
from holdfast.pipeline.feed import PLAIN, VALIDATION_BATCH, Feed, ResizeMode
from holdfast.pipeline.image_cache import ImageCache
from holdfast.pipeline.pack import PackIndex
from holdfast.pipeline.stream import BadImage, Stream
from holdfast.settings.pretrained import find_pretrained
from holdfast.settings.recipe import Recipe
from holdfast.step.network import Network, detector_network, names_of
from holdfast.step.optimizer import OptimizerConfig
from holdfast.step.step_protocol import TrainStep
from holdfast.train import dataset_setup
from holdfast.train.checkpoint.checkpoint_files import BEST, CorruptCheckpoint, read, read_pointer
from holdfast.train.intervals import parse_interval
from holdfast.train.loop import TrainingPlan
from holdfast.train.loop_state import LoopState
from holdfast.train.observers.memory_usage import current_usage
from holdfast.train.observers.observer import Observer, TrainerHeartbeat
from holdfast.train.observers.progress_display import ProgressDisplay
from holdfast.train.observers.results_csv import ResultsCsv
from holdfast.train.observers.tensorboard import LOSSES, TensorBoard
from holdfast.train.process_group import ProcessGroup
from holdfast.train.schedules import Schedule, default_warmup
from holdfast.weights_import.torchvision import download, torchvision_model


@dataclass(frozen=True)
class TrainingData:
    train: Stream
    validation: Stream
    notes: str


def build_data(
    recipe: Recipe, *, low_memory: bool = False, process_share: tuple[int, int] = (0, 1),
    resizing: ResizeMode | None = None,
    packed_from: int | None = 0, on_bad_image: Callable[[BadImage], None] | None = None,
    on_pack_ready: Callable[[int, int], None] | None = None,
) -> TrainingData:  # fmt: skip
    """Both streams. `process_share` is this process's part of how many. A packed copy, if there is one, is read from
    the epoch `packed_from` on; if there is none and it would help, it is made in the background, and `on_pack_ready`
    is called.

    `resizing` is that of the checkpoint's network; without it the recipe says how images are resized.
    `low_memory`, after running out of memory, caches no images, decodes one at a time and validates few at once.
    `on_bad_image` is called for images that cannot be decoded, as many as the recipe allows.
    """
    splits = dataset_setup.load_splits(recipe)
    feed = dataset_setup.build_feed(recipe, process_share=process_share, resizing=resizing)
    at_once = min(feed.batch, 4 if low_memory else VALIDATION_BATCH)
    validation_feed = replace(feed, batch=at_once, seed=0, shuffle=False, endless=False, augment=PLAIN)
    trained = dataset_columns.columns_of(splits.train)
    feed = dataset_setup.with_sent_pixels(recipe, trained, feed, on_gpu=on_gpu(recipe.train.backend))
    packed = dataset_setup.find_pack(trained, feed, packed_from) if packed_from is not None else None
    # A cache of decoded images rounds pixels differently and depends on free memory: not for a deterministic run.
    cache = (
        CacheDecision("none", "")
        if low_memory or recipe.train.deterministic
        else cache_budget.decide_for(trained, feed)
    )
    cache = CacheDecision("none", "") if packed is not None and cache.kind != "decoded" else cache
    # Several processes would switch to the pack at different steps, and a deterministic run at another each time.
    may_pack = process_share[1] == 1 and not recipe.train.deterministic and not low_memory
    packing = (
        dataset_setup.pack_in_background(trained, feed) if cache.pack and may_pack and on_pack_ready else None
    )
    options: dict[str, Any] = {
        "skip_bad": recipe.data.skip_bad, "on_bad": on_bad_image, "threads": 1 if low_memory else None
    }  # fmt: skip
    return TrainingData(
        Stream(
            trained,
            feed,
            cache=ImageCache(cache.kind),
            packed=packed,
            beside=packing,
            on_packed=on_pack_ready,
            **options,
        ),
        Stream(dataset_columns.columns_of(splits.validation), validation_feed, **options),
        "; ".join([splits.notes, *_transfer_notes(feed), *_cache_notes(cache, packed, packing is not None)]),
    )


def _transfer_notes(feed: Feed) -> list[str]:
    if feed.sent_pixels is None:
        return []
    times = feed.sent_pixels / (feed.height * feed.width)
    return [f"images are resized in the compiled step, each sent with {times:.1f} times the input's pixels"]


def _cache_notes(cache: CacheDecision, packed: PackIndex | None, packing: bool) -> list[str]:
    """What differs from reading every image from its file."""
    notes = [f"{len(packed.rows)} large images are read from their packed copies"] if packed else []
    if cache.kind != "none":
        notes.append(f"images are cached in memory ({cache.kind}): {cache.why}")
    elif packing:
        notes.append("small copies of the large images are made during the first epoch, for the later ones")
    elif cache.pack:
        notes.append(f"{cache.why}: `holdfast data pack RECIPE` makes one")
    return notes


def build_detector(
    recipe: Recipe, trained: dataset_columns.Columns, saved_spec: DetectorSpec | None = None
) -> tuple[Detector, str]:
    """The model, and a note on where its weights and anchors came from.

    `saved_spec` is a checkpoint's, which has all weights: then nothing else is read.
    """
    model, train = recipe.model, recipe.train
    weights, size = model.weights, (model.input, model.input)
    if saved_spec is not None:
        spec = model_file.adapted(
            saved_spec, "the checkpoint", trained.classes, size, train.precision, train.rematerialise
        )
        return _frozen(build(spec, seed=train.seed), recipe), ""
    state_dict = torchvision_weights(recipe)
    if state_dict is not None:
        detector, report = torchvision_model.fine_tune(
            state_dict, trained.classes, input_size=size, precision=train.precision, rematerialise=train.rematerialise,
            seed=train.seed, expected={"model.detector": model.detector, "model.backbone": model.backbone},
        )  # fmt: skip
        return _frozen(detector, recipe), f"weights from {state_dict}: {report.summary()}"
    saved = initial_model(weights)
    if saved is not None:
        detector, report = model_file.fine_tune(
            saved, trained.classes, input_size=size, precision=train.precision, rematerialise=train.rematerialise,
            seed=train.seed, expected={"model.detector": model.detector, "model.backbone": model.backbone},
        )  # fmt: skip
        anchors_note = "; its anchors are kept, and none fitted" if model.anchors == "fitted" else ""
        return _frozen(detector, recipe), f"weights from {saved}: {report.summary()}{anchors_note}"
    spec = DetectorSpec(
        model.detector, model.backbone, trained.classes, size, precision=train.precision,
        normalization=suggested_normalization(model.backbone, weights), rematerialise=train.rematerialise,
    )  # fmt: skip
    note = f"backbone weights from {weights}" if weights else "random initial weights"
    if model.anchors == "fitted":
        objects = ~trained.crowds
        shapes, fit_note = anchor_fit.anchors_for_training(
            spec, trained.boxes[objects], _image_sizes(trained)[objects]
        )
        spec, note = replace(spec, anchors=shapes), f"{note}; {fit_note}"
    return _frozen(build(spec, weights, seed=train.seed), recipe), note


def torchvision_weights(recipe: Recipe) -> Path | None:
    """The state dict that `model.weights` names: a public file, which is fetched if need be, or one of the user's."""
    weights = recipe.model.weights or ""
    named = find_pretrained(weights, recipe.model.detector, recipe.model.backbone)
    if named is not None:
        return download.fetch(named)
    path = Path(weights)
    return path if path.suffix in (".pth", ".pt") and path.is_file() else None


def _frozen(detector: Detector, recipe: Recipe) -> Detector:
    """The first stages never train: those of the recipe, else torchvision's with its detectors' weights."""
    wanted = recipe.train.frozen_stages
    with_weights = bool(detector.spec.variant) and recipe.model.weights is not None
    usual = frozen_stages(detector.spec) if with_weights else 0
    detector.backbone.freeze_stages(usual if wanted is None else wanted)
    return detector


def _image_sizes(trained: dataset_columns.Columns) -> Any:
    """(k, 2) width and height of each box's image."""
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
        backbone_lr_factor=backbone_lr_factor(recipe),
    )


def backbone_lr_factor(recipe: Recipe) -> float:
    """At the full learning rate of new heads, pretrained layers with frozen statistics diverge: after 400 steps at 1e-3
    every unit of MobileNetV2's last layer was at 0 or 6, whatever the image."""
    configured = recipe.train.backbone_rate
    return configured if configured is not None else 0.1 if recipe.model.weights else 1.0


def build_step(
    network: Network, recipe: Recipe, micro_batch: int | None, group: ProcessGroup | None = None
) -> TrainStep:
    batch, configured = recipe.train.batch, recipe.train.micro_batch
    micro = micro_batch or (configured if isinstance(configured, int) else batch)
    if recipe.train.backend == "jax":
        if group is not None or recipe.hardware.devices > 1:
            from holdfast.step.jax_distributed import DistributedJaxStep

            return DistributedJaxStep(
                network,
                optimizer_config(recipe),
                batch=batch,
                micro_batch=micro,
                per_process=recipe.hardware.devices,
                group=group,
            )
        from holdfast.step.jax_step import JaxStep

        return JaxStep(network, optimizer_config(recipe), batch=batch, micro_batch=micro)
    if recipe.hardware.devices > 1:
        from holdfast.step.tensorflow_mirrored import MirroredStep, devices_of_host

        devices = devices_of_host(recipe.hardware.devices)
        return MirroredStep(
            network, optimizer_config(recipe), batch=batch, micro_batch=micro, devices=devices
        )
    from holdfast.step.tensorflow_step import TensorFlowStep

    return TensorFlowStep(
        network, optimizer_config(recipe), batch=batch, micro_batch=micro, jit=on_gpu(recipe.train.backend)
    )


def build_plan(recipe: Recipe, folder: RunFolder, images: int) -> TrainingPlan:
    train = recipe.train
    steps = train.steps or max(1, -(-int(train.epochs or 1) * images // train.batch))
    warmup = default_warmup(steps) if train.warmup_steps is None else train.warmup_steps
    return TrainingPlan(
        name=folder.name, steps=steps, batch=train.batch, images=images,
        schedule=Schedule(train.schedule, train.learning_rate, steps, warmup),
        checkpoint=parse_interval(train.checkpoint_every), validate=parse_interval(train.validate_every),
        freeze_steps=train.freeze_steps, monitor=train.monitor, patience=train.early_stopping_patience,
        min_delta=train.early_stopping_min_delta, on_nonfinite=train.on_nonfinite,
        nonfinite_limit=train.nonfinite_limit, precision=train.precision,
    )  # fmt: skip


def build_displays(
    plan: TrainingPlan, state: LoopState, recipe: Recipe, folder: RunFolder, heartbeat: TrainerHeartbeat
) -> list[Observer]:
    """What shows a run to people: results.csv, TensorBoard and the terminal."""
    detector, resumed_at = recipe.model.detector, state.step
    return [
        ResultsCsv(folder.path / "results.csv", resumed_at=resumed_at, parts=tuple(LOSSES[detector])),
        TensorBoard(folder.path / "tensorboard", detector, resumed_at=resumed_at),
        ProgressDisplay(
            plan.steps, plan.batch, memory=functools.partial(current_usage, recipe.train.backend),
            wait_share=heartbeat.wait_share, in_step=heartbeat.in_step, monitor=plan.monitor, best=state.patience.best,
        ),
    ]  # fmt: skip


@contextlib.contextmanager
def serving_weights(step: TrainStep) -> Iterator[None]:
    """Puts the EMA, if there is one, into the Keras model for as long as the block runs."""
    groups = step.export()
    if "ema" not in groups:
        yield
        return
    network: Network = step.network  # type: ignore[attr-defined]
    named = list(zip(names_of(network.trainable), network.trainable, strict=True))
    try:
        for name, variable in named:
            variable.assign(groups["ema"][name])
        yield
    finally:
        for name, variable in named:
            variable.assign(groups["weights"][name])


def write_model(model: Detector, folder: RunFolder, best_step: int | None = None) -> tuple[Path, str]:
    """Writes the weights of the best checkpoint if there was a validation, else the last ones. Returns the path, and a
    problem when the weights of `best_step` could not be used."""
    best, reason, written = read_pointer(folder.checkpoints, BEST), "its checkpoint is gone", "the end"
    variables: list[Any] = [*model.trainable_variables, *model.non_trainable_variables]
    if best is not None:
        try:
            groups = read(best).groups
            written = best.name.replace("-", " ")
            for name, variable in zip(names_of(variables), variables, strict=True):
                variable.assign(groups.get("ema", {}).get(name, groups["weights"][name]))
        except CorruptCheckpoint as error:
            reason = f"its checkpoint is corrupt: {error}"
    path = folder.path / MODEL_NAME
    model_file.save(model, path)
    if best_step is None or written == f"step {best_step}":
        return path, ""
    return (
        path,
        f"step {best_step} was the best in validation, and {reason}; the model has the weights of {written}",
    )


def make_deterministic(seed: int) -> None:
    """The same bits every time, on the CPU and, where TensorFlow can, on a GPU."""
    keras.utils.set_random_seed(seed)
    if keras.backend.backend() != "tensorflow":  # XLA's operations on the CPU are deterministic as they are
        return
    import tensorflow as tf

    tf.config.experimental.enable_op_determinism()
    # It would turn a chain of additions into an `AddN`; see `step.tensorflow_step.sum_in_order`.
    tf.config.optimizer.set_experimental_options({"arithmetic_optimization": False})


def on_gpu(backend: str) -> bool:
    """Whether steps are computed on a GPU here."""
    if backend == "jax":
        import jax

        return bool(jax.devices()[0].platform == "gpu")
    import tensorflow as tf

    return bool(tf.config.list_physical_devices("GPU"))
