"""What a detector answers, on boxes that are computed in the head."""

from __future__ import annotations

import numpy as np

from holdfast.evaluate.box_columns import GroundTruth, Predictions
from holdfast.train.learning.validation_answers import validation_answers


def truth(rows):
    """(image, class, x) of boxes of 10 by 10 pixels."""
    image, category, x = (np.array(column) for column in zip(*rows, strict=True))
    boxes = np.stack([x, np.zeros_like(x), np.full_like(x, 10), np.full_like(x, 10)], axis=1).astype(float)
    names = ((1, "cat"), (2, "dog"))
    return GroundTruth(
        tuple(range(int(image.max()) + 1)),
        names,
        image,
        category,
        boxes,
        np.zeros(len(x), bool),
        np.full(len(x), 100.0),
    )


def found(rows):
    """(image, class, x, score)."""
    image, category, x, score = (np.array(column) for column in zip(*rows, strict=True))
    boxes = np.stack([x, np.zeros_like(x), np.full_like(x, 10), np.full_like(x, 10)], axis=1).astype(float)
    return Predictions(image, category, boxes, score.astype(float))


def test_places_and_classes():
    there = truth([(0, 0, 0), (0, 1, 50), (1, 0, 20), (1, 0, 90)])
    answers = validation_answers(
        there,
        found([(0, 1, 0, 0.9), (0, 0, 1, 0.8), (0, 1, 52, 0.7), (1, 0, 21, 0.6), (1, 0, 60, 0.5)]),
        step=7,
    )
    # Of two on one place the better scored one counts: it says dog where the cat is.
    assert (answers.step, answers.images, answers.objects) == (7, 2, 4)
    assert (answers.located, answers.right) == (0.75, 2 / 3)
    assert (answers.by_chance, answers.classes, answers.highest) == (0.75, 2, 0.9)
    assert answers.alike is None  # fewer than three answers for an image


def test_only_as_many_answers_count_as_there_are_objects():
    everywhere = [(0, 0, x, 1.0 - x / 1000) for x in range(100, -1, -20)]
    answers = validation_answers(truth([(0, 0, 0)]), found([*everywhere[:-1], (0, 0, 0, 0.1)]), step=1)
    assert answers.located == 0.0 and answers.right is None


def test_one_answer_for_every_image():
    there = truth([(image, 0, 30 * image) for image in range(4)])
    same = [(image, 0, x, 0.9 - x / 1000) for image in range(4) for x in (0, 40, 80)]
    assert validation_answers(there, found(same), step=1).alike == 1.0
    own = [(image, 0, x + 13 * image, 0.9 - x / 1000) for image in range(4) for x in (0, 40, 80)]
    assert validation_answers(there, found(own), step=1).alike == 0.0


def test_nothing_to_find():
    nobody = GroundTruth(
        (0,), ((1, "cat"),), *(np.zeros(0, int),) * 2, np.zeros((0, 4)), np.zeros(0, bool), np.zeros(0)
    )
    assert validation_answers(nobody, found([(0, 0, 0, 0.9)]), step=1) is None
