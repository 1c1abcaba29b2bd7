"""The variables of a network and their names, and images that the step resizes.

Runs on the backend that KERAS_BACKEND names; `test_jax_step.py` runs this file again on JAX.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from holdfast.step.network import names_of
from tests.train import tiny

pytestmark = pytest.mark.hot


def flat(step: Any, group: str = "weights") -> np.ndarray:
    return np.concatenate([value.ravel() for value in step.export()[group].values()])


def test_repeated_paths_get_their_own_names() -> None:
    class Named:
        def __init__(self, path: str) -> None:
            self.path = path

    assert names_of([Named("a"), Named("b"), Named("a"), Named("a")]) == ["a", "b", "a~1", "a~2"]
    seeds = [
        Named("seed_generator_7/state"),
        Named("x/seed_generator_9/state"),
        Named("seed_generator_8/state"),
    ]
    assert names_of(seeds) == ["seed_generator/state", "x/seed_generator/state", "seed_generator/state~1"]


@pytest.mark.parametrize("micro", [8, 2])
def test_images_that_the_step_resizes_make_the_same_update(micro: int) -> None:
    """Sent twice as wide and high, in a row with room to spare: each pixel of the image is the mean of four equals."""
    made = [tiny.step(micro=micro) for _ in range(2)]
    sent: list[dict[str, Any]] = []
    for number in range(3):
        batch = dict(tiny.batch(number))
        images = batch.pop("images")
        double = images.repeat(2, axis=1).repeat(2, axis=2)
        pixels = np.zeros((8, 4 * tiny.SIDE**2 + 5, 3), np.uint8)
        pixels[:, : 4 * tiny.SIDE**2] = double.reshape(8, -1, 3)
        side = 2 * tiny.SIDE
        view = np.tile(np.array([side, side, 0, side, 1, tiny.SIDE, tiny.SIDE, 0, 0], np.int32), (8, 1))
        sent.append(batch | {"pixels": pixels, "view": view})
    seen = [
        [
            one.fetch(one(batch, step=number, learning_rate=1e-2, frozen=False))
            for number, batch in enumerate(batches)
        ]
        for one, batches in zip(made, ([tiny.batch(n) for n in range(3)], sent), strict=True)
    ]
    np.testing.assert_allclose(*([step["loss"] for step in of_one] for of_one in seen), rtol=1e-6)
    np.testing.assert_allclose(flat(made[0]), flat(made[1]), rtol=1e-5, atol=1e-6)
    assert made[1].traces() == 1
