"""Validation that runs out of memory: fewer pictures at once, the same detections, and a word about it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from holdfast.errors import HoldfastError
from holdfast.journal.events import Event, ValidationBatchReduced
from holdfast.train.validation import Validation

pytestmark = pytest.mark.hot


class Detect:
    """Refuses more than `most` pictures at once, as TensorFlow does."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.sizes: list[int] = []

    def __call__(self, images: Any) -> tuple[np.ndarray, ...]:
        self.sizes.append(len(images))
        if len(images) > self.most:
            raise MemoryError("OOM when allocating tensor")
        return (
            images[:, None, None] + np.zeros((1, 1, 4)),
            images[:, None] * 1.0,
            np.zeros((len(images), 1), int),
        )


def validation(most: int) -> tuple[Validation, Detect, list[Event]]:
    said: list[Event] = []
    detect = Detect(most)
    sizes = np.full((6, 2), 100)
    stream: Any = SimpleNamespace(feed=SimpleNamespace(batch=6), columns=SimpleNamespace(sizes=sizes))
    return Validation(stream, detect, lambda number: None, say=said.append), detect, said


def batch() -> dict[str, Any]:
    return {
        "images": np.arange(6), "in_epoch": np.ones(6, bool), "image": np.arange(6),
        "mapping": np.tile([1.0, 1.0, 0.0, 0.0], (6, 1)),
    }  # fmt: skip


def test_fewer_at_once_and_the_same_detections() -> None:
    short, detect, said = validation(most=2)
    whole, _, _ = validation(most=6)
    for found, expected in zip(short._found(batch()), whole._found(batch()), strict=True):
        np.testing.assert_array_equal(found, expected)
    assert said[0] == ValidationBatchReduced(batch=1, was=3)
    detect.sizes.clear()
    short._found(batch())
    assert detect.sizes == [1] * 6, "it does not try again what did not fit"


def test_not_even_one_is_an_answer() -> None:
    none, _, _ = validation(most=0)
    with pytest.raises(HoldfastError, match="a single picture at a time does not fit") as caught:
        none._found(batch())
    assert caught.value.where == "validation"
