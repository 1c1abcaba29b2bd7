"""A detector of a few hundred weights with one loss per image, so that a step takes milliseconds."""

from __future__ import annotations

from typing import Any

import keras
import numpy as np
from keras import layers, ops

from holdfast.detectors.build import seeded
from holdfast.step.network import Network, images_of
from holdfast.step.optimizer import OptimizerConfig

SIDE = 16


def model(*, dropout: bool = False) -> keras.Model:
    with seeded(5):
        x = inputs = keras.Input((SIDE, SIDE, 3))
        x = layers.Rescaling(1 / 255)(x)
        x = layers.Conv2D(4, 3, 2, activation="relu", name="backbone_conv")(x)
        x = layers.GroupNormalization(2, name="norm")(x)
        x = layers.Flatten()(x)
        if dropout:
            x = layers.Dropout(0.5, seed=3)(x)
        return keras.Model(inputs, layers.Dense(4, name="head", dtype="float32")(x))


def network(**how: Any) -> Network:
    net = model(**how)

    def losses(batch: Any) -> dict[str, Any]:
        wanted = ops.sum(batch["boxes"] * ops.cast(batch["real"], "float32")[..., None], axis=1) / SIDE
        off = net(ops.cast(images_of(batch, (SIDE, SIDE)), "float32"), training=True) - wanted
        return {"box": ops.sum(ops.square(off), axis=-1), "class": 0.1 * ops.sum(ops.abs(off), axis=-1)}

    return Network(net, losses, frozen_prefixes=("backbone_conv",))


def batch(number: int, size: int = 8) -> dict[str, Any]:
    rng = np.random.default_rng(number)
    return {
        "images": rng.integers(0, 256, (size, SIDE, SIDE, 3)).astype(np.uint8),
        "boxes": rng.uniform(0, SIDE, (size, 3, 4)).astype(np.float32),
        "labels": rng.integers(0, 2, (size, 3)).astype(np.int32),
        "real": rng.uniform(size=(size, 3)) < 0.7,
        "crowd": np.zeros((size, 3), bool),
        "image": np.arange(size, dtype=np.int64),
    }


def step(
    net: Network | None = None,
    config: OptimizerConfig | None = None,
    *,
    size: int = 8,
    micro: int | None = None,
) -> Any:
    net = net or network()
    settings: dict[str, Any] = {"batch": size, "micro_batch": micro or size}
    if keras.backend.backend() == "jax":
        from holdfast.step.jax_step import JaxStep

        return JaxStep(net, config or OptimizerConfig(), **settings)
    from holdfast.step.tensorflow_step import TensorFlowStep

    return TensorFlowStep(net, config or OptimizerConfig(), **settings)


def run(made: Any, steps: range, learning_rate: float = 1e-2, **how: Any) -> list[dict[str, Any]]:
    return [
        made.fetch(made(batch(n, made.batch), step=n, learning_rate=learning_rate, frozen=False, **how))
        for n in steps
    ]
