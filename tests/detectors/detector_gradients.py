"""Loss and gradient of a detector on either backend, for tests: the plainest way each has."""

from __future__ import annotations

import keras
import numpy as np

from holdfast.detectors.batch import total_loss


def loss_and_gradients(detector, batch):
    """(parts of the loss by image, total, gradients by variable name), all numpy."""
    if keras.backend.backend() == "jax":
        return _jax(detector, batch)
    import tensorflow as tf

    with tf.GradientTape() as tape:
        parts = detector.losses_of(batch)
        loss = total_loss(parts)
    variables = detector.trainable_variables
    gradients = tape.gradient(loss, [variable.value for variable in variables], unconnected_gradients="zero")
    return (
        {name: part.numpy() for name, part in parts.items()},
        float(loss),
        {
            variable.path: np.asarray(tf.convert_to_tensor(gradient))
            for variable, gradient in zip(variables, gradients, strict=True)
        },
    )


def _jax(detector, batch):
    import jax

    trainable, others = detector.trainable_variables, detector.non_trainable_variables

    def run(values, fixed):
        mapping = [*zip(trainable, values, strict=True), *zip(others, fixed, strict=True)]
        with keras.StatelessScope(state_mapping=mapping):
            parts = detector.losses_of(batch)
            return total_loss(parts), parts

    step = jax.jit(jax.value_and_grad(run, has_aux=True))
    (loss, parts), gradients = step([v.value for v in trainable], [v.value for v in others])
    return (
        {name: np.asarray(part) for name, part in parts.items()},
        float(loss),
        {variable.path: np.asarray(g) for variable, g in zip(trainable, gradients, strict=True)},
    )


def small_batch(size: int, side: int, seed: int = 0, boxes: int = 4) -> dict[str, np.ndarray]:
    """Noise with real boxes; the second image has none, the third has a crowd region beside a box."""
    rng = np.random.default_rng(seed)
    corner = rng.uniform(0, side * 0.5, (size, boxes, 2))
    extent = rng.uniform(side * 0.1, side * 0.5, (size, boxes, 2))
    real = rng.random((size, boxes)) < 0.7
    real[:, 0] = True
    crowd = np.zeros((size, boxes), bool)
    if size > 1:
        real[1] = False
    if size > 2:
        real[2, :2], crowd[2, 1] = True, True
    coordinates = np.concatenate([corner, corner + extent], axis=-1) * real[..., None]
    return {
        "images": rng.integers(0, 256, (size, side, side, 3)).astype(np.uint8),
        "boxes": coordinates.astype(np.float32),
        "labels": (rng.integers(0, 3, (size, boxes)) * real).astype(np.int32),
        "real": real,
        "crowd": crowd,
        "seeds": rng.integers(0, 2**31 - 1, size).astype(np.int32),
    }


def part_of(batch, start, stop):
    return {name: value[start:stop] for name, value in batch.items()}
