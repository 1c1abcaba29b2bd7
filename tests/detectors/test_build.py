"""A fresh detector from a seed."""

from __future__ import annotations

import random

import keras
import numpy as np
import pytest

from holdfast.detectors.build import seeded

pytestmark = pytest.mark.hot


def fresh_weights() -> list[np.ndarray]:
    with seeded(7):
        first = keras.layers.Dense(8)
        first.build((None, 8))
        random.random()  # as a thread that retries a request does
        second = keras.layers.Dense(8)
        second.build((None, 8))
    return [np.asarray(layer.kernel) for layer in (first, second)]


def test_another_thread_that_draws_random_numbers_changes_no_fresh_weight(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    disturbed = fresh_weights()
    monkeypatch.setattr(random, "random", lambda: 0.5)
    alone = fresh_weights()
    for one, other in zip(disturbed, alone, strict=True):
        np.testing.assert_array_equal(one, other)


def test_afterwards_the_global_generator_is_as_before() -> None:
    before = random.randint
    with pytest.raises(ValueError, match="broken"), seeded(7):
        assert random.randint is not before
        raise ValueError("broken")
    assert random.randint is before
