"""Journal events that describe an attempt: the framework, the data, the model, and the error that ended it."""

from __future__ import annotations

import math
import traceback
from collections.abc import Iterator, Sequence
from typing import Any

import keras

from holdfast.errors import HoldfastError
from holdfast.journal import events as ev
from holdfast.settings.recipe import Recipe
from holdfast.train.components import TrainingData

MAX_LISTED_BOXES = 20


def framework_event() -> ev.FrameworkSeen:
    backend = keras.backend.backend()
    if backend == "jax":
        import jax

        devices, version = [str(device) for device in jax.devices()], jax.__version__
        kinds = [str(device.platform) for device in jax.devices()]
    else:
        import tensorflow as tf

        devices, version = [device.name for device in tf.config.list_physical_devices()], tf.__version__
        kinds = [device.device_type.lower() for device in tf.config.list_physical_devices()]
    return ev.FrameworkSeen(
        name="keras", version=keras.__version__, backend=backend, devices=devices, device_kinds=kinds,
        versions={"keras": keras.__version__, backend: version},
    )  # fmt: skip


def data_events(data: TrainingData) -> Iterator[ev.Event]:
    for stream, role in ((data.train, "train"), (data.validation, "validation")):
        yield ev.DatasetSeen(
            role=role, type="holdfast", python_fed=False, cardinality=stream.steps or -1, file_count=stream.images
        )  # fmt: skip
        for box in stream.columns.left_out[:MAX_LISTED_BOXES]:
            yield ev.BoxLeftOut(file=str(box.file), why=box.detail)


def model_event(model: Any, recipe: Recipe) -> ev.ModelSeen:
    train, side = recipe.train, recipe.model.input
    return ev.ModelSeen(
        name=recipe.model.detector, parameters=_count(model.variables),
        trainable_parameters=_count(model.trainable_variables),
        trainable_variables=len(model.trainable_variables), input_shape=[train.batch, side, side, 3],
        precision=train.precision, optimizer=train.optimizer, learning_rate=train.learning_rate,
        learning_rate_schedule=train.schedule, run_eagerly=False,
    )  # fmt: skip


def _count(variables: Sequence[Any]) -> int:
    return sum(math.prod(variable.shape) for variable in variables)


def error_event(error: HoldfastError) -> ev.ErrorReported:
    return ev.ErrorReported(
        slug=error.slug, what=error.what, where=error.where, found=list(error.found), change=list(error.advised),
        more=error.more,
    )  # fmt: skip


def exception_event(error: Exception) -> ev.ExceptionRaised:
    stack = traceback.extract_tb(error.__traceback__)
    frames = [f"{frame.filename}:{frame.lineno} {frame.name}" for frame in stack]
    message, found = (error.what, error.found) if isinstance(error, HoldfastError) else (str(error), ())
    return ev.ExceptionRaised(
        type=type(error).__name__, message=message[:2000], left="script", frames=frames[-30:],
        errno=getattr(error, "errno", None), chain=[str(line)[:500] for line in found],
    )  # fmt: skip
