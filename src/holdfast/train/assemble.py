"""From a recipe to everything that the loop takes: data, detector, compiled step, schedule, witnesses."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import keras
import numpy as np

from holdfast.detectors import anchor_fit, model_file
from holdfast.detectors.build import Detector, build, suggested_normalization
from holdfast.detectors.model_place import MODEL_NAME, to_go_on_from
from holdfast.detectors.spec import DetectorSpec
from holdfast.journal.folder import RunFolder
from holdfast.pipeline import budget, columns, service
from holdfast.pipeline.budget import Decision
from holdfast.pipeline.cache import PictureCache
from holdfast.pipeline.feed import PLAIN, Feed
from holdfast.pipeline.pack import Packed
from holdfast.pipeline.stream import BadImage, Stream
from holdfast.settings.recipe import Recipe
from holdfast.train import prepare
from holdfast.train.cadence import every
from holdfast.train.checkpoints import BEST, Torn, pointed, read
from holdfast.train.loop import Plan
from holdfast.train.network import Network, detector_network, names_of
from holdfast.train.peers import Peers
from holdfast.train.schedules import Schedule, usual_warmup
from holdfast.train.step import Step
from holdfast.train.update import Rule


@dataclass(frozen=True)
class Data:
    train: Stream
    validation: Stream
    how: str


def data(
    recipe: Recipe, *, frugal: bool = False, share: tuple[int, int] = (0, 1), packed_from: int | None = 0,
    on_bad: Callable[[BadImage], None] | None = None, on_packed: Callable[[int, int], None] | None = None,
) -> Data:  # fmt: skip
    """Both streams. `share` is a process's part of how many; a packed copy, where there is one, is read from the epoch
    `packed_from` on; where there is none and one would serve, it is made beside the run, and `on_packed` is told.

    `frugal`, after memory ran out, keeps no pictures in it, decodes one at a time and validates few at once. `on_bad`
    is told of pictures that cannot be decoded, as far as the recipe lets them pass.
    """
    parts = prepare.sets(recipe)
    feed = prepare.feed(recipe, share=share)
    held = replace(
        feed, batch=min(feed.batch, 4 if frugal else 16), seed=0, shuffle=False, endless=False, augment=PLAIN
    )
    trained = columns.of_dataset(parts.train)
    feed = prepare.sent(recipe, trained, feed, on_gpu=on_gpu(recipe.train.backend))
    packed = prepare.packed(trained, feed, packed_from) if packed_from is not None else None
    # A decoded cache rounds pixels in its own way and depends on free memory: not where bits must repeat.
    kept = Decision("none", "") if frugal or recipe.train.deterministic else budget.decide_for(trained, feed)
    kept = Decision("none", "") if packed is not None and kept.kind != "decoded" else kept
    servers = tuple(recipe.hardware.data_service or ())
    if servers:
        service.reach(servers)
        kept = Decision("none", "")
    # Several processes would change over at different steps, and a run that must repeat its bits at another each time.
    alone = share[1] == 1 and not servers and not recipe.train.deterministic and not frugal
    beside = prepare.packing_beside(trained, feed) if kept.pack and alone and on_packed else None
    how: dict[str, Any] = {
        "skip_bad": recipe.data.skip_bad, "on_bad": on_bad, "threads": 1 if frugal else None
    }  # fmt: skip
    return Data(
        Stream(
            trained,
            feed,
            cache=PictureCache(kept.kind),
            packed=packed,
            servers=servers,
            beside=beside,
            on_packed=on_packed,
            **how,
        ),
        Stream(columns.of_dataset(parts.validation), held, **how),
        "; ".join([parts.how, *_how_sent(feed), *_how_kept(kept, packed, servers, beside is not None)]),
    )


def _how_sent(feed: Feed) -> list[str]:
    if feed.sent_pixels is None:
        return []
    times = feed.sent_pixels / (feed.height * feed.width)
    return [f"pictures are resized in the compiled step, each sent in {times:.1f} times the image's pixels"]


def _how_kept(kept: Decision, packed: Packed | None, servers: tuple[str, ...], beside: bool) -> list[str]:
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


def detector(recipe: Recipe, trained: columns.Columns) -> tuple[Detector, str]:
    """The model, and a sentence about where its weights and anchors came from."""
    model, train = recipe.model, recipe.train
    weights, size = model.weights, (model.input, model.input)
    saved = to_go_on_from(weights)
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
        shapes, said = anchor_fit.for_training(spec, trained.boxes[objects], _picture_sizes(trained)[objects])
        spec, whence = replace(spec, anchors=shapes), f"{whence}; {said}"
    return build(spec, weights, seed=train.seed), whence


def _picture_sizes(trained: columns.Columns) -> Any:
    """(k, 2) each box's picture's width and height."""
    return np.repeat(trained.sizes, np.diff(trained.first), axis=0)


def network(model: Detector, recipe: Recipe) -> Network:
    colours = prepare.AUGMENTS[recipe.data.augment].changes_colour
    return detector_network(model, changes_colour=colours, seed=recipe.train.seed)


def rule(recipe: Recipe) -> Rule:
    train = recipe.train
    return Rule(
        optimizer=train.optimizer,
        weight_decay=train.weight_decay,
        clip_norm=train.clip_norm or None,
        ema=train.ema or None,
        loss_scaling=train.precision == "float16",
        tolerated=train.nonfinite_limit if train.on_nonfinite == "skip" else 0,
        held_rate=backbone_rate(recipe),
    )


def backbone_rate(recipe: Recipe) -> float:
    """Of the learning rate. At the full rate of fresh heads, pretrained layers with frozen statistics drift apart:
    in 400 steps at 1e-3 every unit of MobileNetV2's last layer stood at 0 or 6, whatever the picture."""
    given = recipe.train.backbone_rate
    return given if given is not None else 0.1 if recipe.model.weights else 1.0


def step(net: Network, recipe: Recipe, micro_batch: int | None, peers: Peers | None = None) -> Step:
    batch, wanted = recipe.train.batch, recipe.train.micro_batch
    micro = micro_batch or (wanted if isinstance(wanted, int) else batch)
    if recipe.train.backend == "jax":
        if peers is not None or recipe.hardware.devices > 1:
            from holdfast.train.step_peers import PeersStep

            return PeersStep(
                net, rule(recipe), batch=batch, micro_batch=micro, per_process=recipe.hardware.devices, peers=peers
            )  # fmt: skip
        from holdfast.train.step_jax import JaxStep

        return JaxStep(net, rule(recipe), batch=batch, micro_batch=micro)
    if recipe.hardware.devices > 1:
        from holdfast.train.step_mirrored import MirroredStep, devices_of_host

        places = devices_of_host(recipe.hardware.devices)
        return MirroredStep(net, rule(recipe), batch=batch, micro_batch=micro, devices=places)
    from holdfast.train.step_tensorflow import TensorFlowStep

    return TensorFlowStep(net, rule(recipe), batch=batch, micro_batch=micro, jit=on_gpu(recipe.train.backend))


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


def write_model(model: Detector, folder: RunFolder, best_step: int | None = None) -> tuple[Path, str]:
    """The weights to use: the best checkpoint's where there was a validation, else those of the end; and a sentence
    where those of `best_step`, the best, cannot be had."""
    best, why, has = pointed(folder.checkpoints, BEST), "its checkpoint is gone", "the end"
    variables: list[Any] = [*model.trainable_variables, *model.non_trainable_variables]
    if best is not None:
        try:
            groups = read(best).groups
            has = best.name.replace("-", " ")
            for name, variable in zip(names_of(variables), variables, strict=True):
                variable.assign(groups.get("ema", {}).get(name, groups["weights"][name]))
        except Torn as torn:
            why = f"its checkpoint is not whole: {torn}"
    path = folder.path / MODEL_NAME
    model_file.save(model, path)
    if best_step is None or has == f"step {best_step}":
        return path, ""
    return path, f"step {best_step} was the best in validation, and {why}; the model has the weights of {has}"


def deterministic(seed: int) -> None:
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


def leave_gpus_to_jax() -> None:
    """The pipeline is TensorFlow's, which would take all the memory of a GPU that it sees."""
    import tensorflow as tf

    tf.config.set_visible_devices([], "GPU")
