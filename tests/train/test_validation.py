"""Validation: skipped images, several processes, and running out of memory."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from holdfast.errors import HoldfastError
from holdfast.evaluate.box_columns import GroundTruth, Predictions
from holdfast.journal.events import Event, ValidationBatchReduced
from holdfast.pipeline.dataset_columns import Columns
from holdfast.train.validation import Validation

pytestmark = pytest.mark.hot


IMAGES = 4


def columns() -> Columns:
    """Four images of 100 x 100 with a box of 10 x 10 each, in the last one difficult."""
    none = np.zeros(IMAGES, np.int32)
    return Columns(
        ids=list("abcd"), paths=list("abcd"), offsets=none - 1, lengths=none, file_bytes=none,
        stored_sizes=np.full((IMAGES, 2), 100), orientations=none + 1, codecs=none,
        boxes=np.tile(np.array([[0, 0, 10, 10]], np.float32), (IMAGES, 1)), labels=none,
        crowds=none > 0, difficult=np.array([False, False, False, True]), areas=np.full(IMAGES, 100.0),
        first=np.arange(IMAGES + 1), classes=("cat",),
    )  # fmt: skip


class Stream:
    """Images `mine`, one a batch; those in `met` turn out bad when their batch is made."""

    def __init__(self, mine: tuple[int, ...], met: set[int]) -> None:
        self.columns, self.feed = columns(), SimpleNamespace(batch=1)
        self._mine, self._met = mine, met
        self.bad: frozenset[int] = frozenset()

    def batches(self) -> Any:
        for image in self._mine:
            self.bad |= self._met & {image}
            yield {
                "images": np.array([image]), "in_epoch": np.ones(1, bool), "image": np.array([image]),
                "mapping": np.array([[1.0, 1.0, 0.0, 0.0]]),
            }  # fmt: skip


def detect(images: Any) -> tuple[np.ndarray, ...]:
    """The box that is there, in every image."""
    boxes = np.tile(np.array([[[0.0, 0, 10, 10]]]), (len(images), 1, 1))
    return boxes, np.full((len(images), 1), 0.9), np.zeros((len(images), 1), int)


def ran(stream: Stream, gathered: Any = None) -> tuple[dict[str, float], GroundTruth, Predictions]:
    told: list[Any] = []
    made: Any = stream
    validation = Validation(made, detect, lambda number: None, lambda *all_: told.append(all_), gathered)
    numbers = validation(lambda: False)
    assert numbers is not None
    return numbers, told[0][0], told[0][1]


def test_a_bad_image_has_neither_boxes_nor_finds() -> None:
    numbers, truth, found = ran(Stream((0, 1, 2, 3), met={1}))
    assert truth.images == (0, 2, 3)
    assert truth.image.tolist() == [0, 1, 2]
    assert found.image.tolist() == [0, 1]
    assert numbers["AP50"] == pytest.approx(1.0)


def test_a_find_on_a_difficult_box_is_not_handed_on_to_be_shown() -> None:
    _, truth, found = ran(Stream((0, 1, 2, 3), met=set()))
    assert truth.crowd.tolist() == [False, False, False, True]
    assert found.image.tolist() == [0, 1, 2]


def test_all_processes_leave_out_what_any_of_them_met() -> None:
    """Two processes with two images each: what one gathers is its own rows and then the other's."""
    first, second = Stream((0, 1), met={1}), Stream((2, 3), met={2})
    sent: dict[int, list[tuple[np.ndarray, ...]]] = {1: [], 2: []}

    def listened(number: int) -> Any:
        return lambda own: sent[number].append(own) or own

    ran(first, listened(1))
    ran(second, listened(2))
    answers = []
    for stream in (Stream((0, 1), met={1}), Stream((2, 3), met={2})):
        both = iter(list(zip(sent[1], sent[2], strict=True)))
        join = lambda own, both=both: tuple(map(np.concatenate, zip(*next(both), strict=True)))  # noqa: E731
        answers.append(ran(stream, join))
    for numbers, truth, found in answers:
        assert truth.images == (0, 3)
        assert found.image.tolist() == [0]
        assert numbers == answers[0][0]


class Detect:
    """Refuses more than `most` images at once, as TensorFlow does."""

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
    return Validation(stream, detect, lambda number: None, notify=said.append), detect, said


def batch() -> dict[str, Any]:
    return {
        "images": np.arange(6), "in_epoch": np.ones(6, bool), "image": np.arange(6),
        "mapping": np.tile([1.0, 1.0, 0.0, 0.0], (6, 1)),
    }  # fmt: skip


def test_fewer_at_once_and_the_same_detections() -> None:
    short, detect, said = validation(most=2)
    whole, _, _ = validation(most=6)
    for found, expected in zip(short._detect_batch(batch()), whole._detect_batch(batch()), strict=True):
        np.testing.assert_array_equal(found, expected)
    assert said[0] == ValidationBatchReduced(batch=1, was=3)
    detect.sizes.clear()
    short._detect_batch(batch())
    assert detect.sizes == [1] * 6, "it does not try again what did not fit"


def test_not_even_one_is_an_answer() -> None:
    none, _, _ = validation(most=0)
    with pytest.raises(HoldfastError, match="a micro-batch of one image does not fit") as caught:
        none._detect_batch(batch())
    assert caught.value.where == "validation"
