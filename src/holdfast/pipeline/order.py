"""The order of the images and every random number, as pure functions of (seed, epoch, index).

Nothing is shuffled and nothing is kept: the image at a position is computed, so a position in the data is
one integer, and going on from it costs nothing. The functions take NumPy arrays of uint64, one dimension or more,
which overflow without a word.
"""

from __future__ import annotations

from typing import Any

import numpy as np

ROUNDS = (
    10  # four are enough in theory (Luby and Rackoff); a grid of a few cells needs more to lose its pattern
)
GOLDEN = 0x9E3779B97F4A7C15

# One purpose, one stream of numbers: no two draws of an image share a number.
ORDER, AUGMENT, PARTNERS = 1, 2, 3


def mix(x: Any) -> Any:
    """The finaliser of splitmix64 (Steele, Lea and Flood, 2014): 64 bits in, 64 well-stirred bits out."""
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9
    x = (x ^ (x >> 27)) * 0x94D049BB133111EB
    return x ^ (x >> 31)


def key(seed: int, purpose: int, *parts: Any) -> Any:
    """One number for all that a draw depends on; each part is stirred in, so (1, 2) and (2, 1) differ."""
    stirred: Any = _mixed_constant(seed, purpose)
    for part in parts:
        stirred = mix((part ^ stirred) + GOLDEN)
    return stirred


def _mixed_constant(seed: int, purpose: int) -> int:
    with np.errstate(over="ignore"):
        word = np.array([seed % 2**64], np.uint64) + np.array([purpose], np.uint64) * np.uint64(GOLDEN)
        return int(mix(word)[0])


def grid_sides(images: int) -> tuple[int, int]:
    """The near-square grid, rows and columns, on which the order of so many images is stirred."""
    rows = int(np.ceil(np.sqrt(images)))
    return rows, -(-images // rows)


def feistel_pass(slot: Any, round_keys: Any, images: int) -> Any:
    """One pass of a Feistel network over the grid: a permutation of its cells.

    `slot` is below rows x columns, which exceeds the number of images by less than one row; a cell
    beyond the last image is stirred again by the caller until it is not (cycle walking), so that
    the whole is a permutation of the images themselves.
    """
    rows, columns = grid_sides(images)
    row, column = slot // columns, slot % columns
    for turn in range(0, ROUNDS, 2):
        row = (row + mix(column + round_keys[turn]) % rows) % rows
        column = (column + mix(row + round_keys[turn + 1]) % columns) % columns
    return row * columns + column


def image_at(positions: Any, *, images: int, seed: int, shuffle: bool = True) -> np.ndarray:
    """Which image is at each position; position p is slot p % images of epoch p // images."""
    positions = np.atleast_1d(np.asarray(positions, np.uint64))
    slots = positions % images
    if not shuffle:
        return slots.astype(np.int64)
    with np.errstate(over="ignore"):
        base = key(seed, ORDER, positions // images)
        round_keys = [mix(base + (turn + 1) * GOLDEN % 2**64) for turn in range(ROUNDS)]
        found = feistel_pass(slots, round_keys, images)
        while (beyond := found >= images).any():
            found = np.where(beyond, feistel_pass(found, round_keys, images), found)
    return found.astype(np.int64)


def uniforms(keys: np.ndarray, count: int) -> np.ndarray:
    """`count` numbers in [0, 1) for each key, on a new last axis. The first ones do not depend on `count`.

    The upper 24 bits are what float32 holds exactly.
    """
    counters = (np.arange(1, count + 1, dtype=object) * GOLDEN) % 2**64
    bits = mix(keys[..., None] + counters.astype(np.uint64)) >> 40
    return bits.astype(np.float32) * np.float32(2.0**-24)
