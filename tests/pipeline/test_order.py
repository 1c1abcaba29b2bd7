"""The order: every image once an epoch, the same for the same seed, and no state."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.pipeline import order


def epoch(number: int, images: int, seed: int = 0) -> list[int]:
    positions = np.arange(number * images, (number + 1) * images)
    return order.image_at(positions, images=images, seed=seed).tolist()


@settings(deadline=None, max_examples=200)
@given(images=st.integers(1, 3000), number=st.integers(0, 10**6), seed=st.integers(0, 2**63))
def test_every_image_comes_exactly_once_an_epoch(images: int, number: int, seed: int) -> None:
    assert sorted(epoch(number, images, seed)) == list(range(images))


def test_a_large_set_too() -> None:
    found = order.image_at(np.arange(1_000_003), images=1_000_003, seed=5)
    assert np.array_equal(np.sort(found), np.arange(1_000_003))


def test_epochs_and_seeds_differ_and_repeat_exactly() -> None:
    assert epoch(0, 50) == epoch(0, 50)
    assert epoch(0, 50) != epoch(1, 50)
    assert epoch(0, 50, seed=0) != epoch(0, 50, seed=1)


def test_any_part_is_computed_without_what_comes_before() -> None:
    whole = order.image_at(np.arange(1000), images=37, seed=3)
    assert np.array_equal(order.image_at(np.arange(613, 700), images=37, seed=3), whole[613:700])
    assert order.image_at(613, images=37, seed=3)[0] == whole[613]


def test_not_shuffled_is_as_it_stands() -> None:
    assert order.image_at(np.arange(6), images=4, seed=9, shuffle=False).tolist() == [0, 1, 2, 3, 0, 1]


def test_the_order_is_stored_so_that_a_resumed_run_of_an_older_release_goes_on() -> None:
    assert epoch(0, 10, seed=42) == STORED_EPOCH_0
    assert epoch(1, 10, seed=42) == STORED_EPOCH_1


STORED_EPOCH_0 = [6, 9, 7, 5, 4, 8, 1, 0, 2, 3]
STORED_EPOCH_1 = [2, 9, 8, 3, 6, 0, 4, 7, 5, 1]


@pytest.mark.parametrize("images", [5, 12, 101])
def test_no_place_prefers_an_image(images: int) -> None:
    """Chi-squared over (place, image); its mean is (images - 1)^2 and its deviation the root of twice that."""
    seeds = 2000
    counts = np.zeros((images, images))
    for seed in range(seeds):
        counts[np.arange(images), epoch(0, images, seed)] += 1
    expected = seeds / images
    freedom = (images - 1) ** 2
    chi_squared = ((counts - expected) ** 2 / expected).sum()
    assert abs(chi_squared - freedom) < 5 * np.sqrt(2 * freedom)


def test_mix_is_splitmix64() -> None:
    """The first outputs of the published generator from the seed 1234567."""
    with np.errstate(over="ignore"):
        states = np.array([(1234567 + k * order.GOLDEN) % 2**64 for k in (1, 2, 3)], np.uint64)
        assert order.mix(states).tolist() == [
            6457827717110365317, 3203168211198807973, 9817491932198370423,
        ]  # fmt: skip


def test_draws_are_uniform_and_independent() -> None:
    with np.errstate(over="ignore"):
        keys = order.key(0, order.AUGMENT, np.zeros(20_000, np.uint64), np.arange(20_000, dtype=np.uint64))
    drawn = order.uniforms(keys, 8)
    assert drawn.min() >= 0.0 and drawn.max() < 1.0
    assert np.abs(drawn.mean(axis=0) - 0.5).max() < 0.01
    assert np.abs(drawn.var(axis=0) - 1 / 12).max() < 0.002
    assert np.abs(np.corrcoef(drawn.T) - np.eye(8)).max() < 0.03
    assert np.abs(np.corrcoef(drawn[:-1, 0], drawn[1:, 0])[0, 1]) < 0.03


def test_the_first_draws_do_not_depend_on_how_many_there_are() -> None:
    keys = order.key(3, order.AUGMENT, np.arange(50, dtype=np.uint64))
    assert np.array_equal(order.uniforms(keys, 4), order.uniforms(keys, 180)[:, :4])
