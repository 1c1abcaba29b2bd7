"""Whether labels depend on images."""

from __future__ import annotations

import numpy as np
import pytest

from holdfast.probe.learning.image_dependence import ImageRows, is_images


def _spotted(count: int) -> tuple[np.ndarray, np.ndarray]:
    """Half of them have three bright spots somewhere."""
    rng = np.random.default_rng(0)
    images = rng.uniform(0.1, 0.3, (count, 40, 40, 3)).repeat(1, axis=0)
    images = (images + np.roll(images, 1, axis=2)) / 2
    labels = rng.integers(0, 2, count)
    for image, spotted in zip(images, labels, strict=True):
        for row, column in rng.integers(2, 34, (3 * int(spotted), 2)):
            image[row : row + 4, column : column + 4] = (0.9, 0.5, 0.1)
    return images.astype("float32"), labels


@pytest.mark.parametrize("one_hot", [False, True])
def test_labels_in_their_order_and_in_another(one_hot: bool) -> None:
    images, labels = _spotted(600)
    for given, low, high in (
        (labels, 0.8, 1.0),
        (np.random.default_rng(1).permutation(labels), 0.0, 3 / 600**0.5),
    ):
        rows = ImageRows()
        rows.add(images, np.eye(2)[given] if one_hot else given)
        seen = rows.dependence(1)
        assert seen is not None and (seen.of, seen.rows, seen.fit) == ("images", 600, 1)
        assert low <= seen.agreement <= high
        assert seen.structure is not None and seen.structure > 0.2


def test_noise_has_no_structure() -> None:
    rng = np.random.default_rng(0)
    rows = ImageRows()
    rows.add(rng.normal(size=(200, 3, 32, 32)), rng.integers(0, 5, 200))
    seen = rows.dependence()
    assert seen is not None and seen.structure is not None and abs(seen.structure) < 0.05


def test_images_that_come_twice_count_once() -> None:
    images, labels = _spotted(120)
    rows = ImageRows()
    rows.add(images, labels)
    rows.add(images, labels)
    seen = rows.dependence()
    assert seen is not None and seen.rows == 120


def test_neither_the_random_state_nor_the_images_are_touched() -> None:
    images, labels = _spotted(150)
    before, state = images.copy(), np.random.get_state()[1].tolist()
    rows = ImageRows()
    rows.add(images, labels)
    rows.dependence()
    assert np.array_equal(images, before)
    assert np.random.get_state()[1].tolist() == state


@pytest.mark.parametrize(
    ("shape", "expected"),
    [
        ((9, 28, 28), True),
        ((9, 28, 28, 3), True),
        ((9, 3, 28, 28), True),
        ((9, 64), False),
        ((9, 50, 4), False),
    ],
)
def test_what_a_image_is(shape: tuple[int, ...], expected: bool) -> None:
    assert is_images(np.zeros(shape)) is expected
