"""An evaluation to look at: which images are worst, what was right in them, what is confused."""

from __future__ import annotations

import base64
import json

import numpy as np

from holdfast.evaluate.box_columns import GroundTruth, Predictions
from holdfast.evaluate.coco_metrics import score
from holdfast.evaluate.evaluation_view import (
    PageImage,
    most_confused,
    report_data,
    true_positives,
    without_ignored,
    worst_images,
)


def truth() -> GroundTruth:
    """Image 0: a cat. Image 1: a cat and a dog. Image 2: nothing. Image 3: a crowd of cats."""
    boxes = np.array([[0, 0, 10, 10], [0, 0, 10, 10], [50, 50, 10, 10], [0, 0, 90, 90]], float)
    return GroundTruth(
        images=(10, 11, 12, 13),
        categories=((1, "cat"), (2, "dog")),
        image=np.array([0, 1, 1, 3]),
        category=np.array([0, 0, 1, 0]),
        boxes=boxes,
        crowd=np.array([False, False, False, True]),
        area=boxes[:, 2] * boxes[:, 3],
    )


def found() -> Predictions:
    """Right in image 0; in image 1 a dog where the cat is; in image 2 a cat where nothing is."""
    return Predictions(
        image=np.array([0, 1, 2]),
        category=np.array([0, 1, 0]),
        boxes=np.array([[0, 0, 10, 9], [0, 0, 10, 10], [5, 5, 20, 20]], float),
        score=np.array([0.9, 0.8, 0.7]),
    )


def small(row: int) -> PageImage:
    return PageImage(f"{row}.jpg", 100, 80, b"" if row == 12 else b"jpeg")


def test_the_worst_image_comes_first() -> None:
    ranked = worst_images(truth(), found())
    assert [(one.image, one.missed, one.wrong) for one in ranked] == [
        (1, 2, 1), (2, 0, 1), (3, 0, 0), (0, 0, 0)
    ]  # fmt: skip
    assert [one.image for one in worst_images(truth(), found(), most=1)] == [1]


def test_what_is_shown() -> None:
    result = report_data(truth(), found(), score(truth(), found()), small)
    assert json.loads(json.dumps(result)) == result
    first = result["pictures"][0]
    assert first["name"] == "11.jpg", "it is asked for by what the truth calls it"
    assert base64.b64decode(first["jpeg"]) == b"jpeg"
    assert first["truth"] == [
        {"box": [0, 0, 10, 10], "name": "cat", "found": False},
        {"box": [50, 50, 60, 60], "name": "dog", "found": False},
    ]
    assert first["found"] == [{"box": [0, 0, 10, 10], "name": "dog", "score": 0.8, "right": False}]
    assert result["pictures"][3]["truth"][0]["found"]
    assert result["mistakes"]["right"] == 1
    assert result["mistakes"]["missed"] == 2
    assert result["confusion"]["classes"] == ["cat", "dog", "background"]
    assert result["confusion"]["true_by_found"] == [[1, 1, 0], [0, 0, 1], [1, 0, 0]]
    cat = next(one for one in result["classes"] if one["name"] == "cat")
    assert cat["boxes"] == 2
    assert len(cat["precision_at_recall"]["0.5"]) == 101
    assert cat["precision_at_recall"]["0.5"][0] == 1.0


def in_the_crowd() -> Predictions:
    """Twice the cat of image 0, which has no crowd; in image 3 a cat in the crowd of cats, and a dog there."""
    return Predictions(
        image=np.array([0, 0, 3, 3]),
        category=np.array([0, 0, 0, 1]),
        boxes=np.array([[0, 0, 10, 9], [0, 0, 10, 8], [40, 40, 20, 20], [40, 40, 20, 20]], float),
        score=np.array([0.9, 0.8, 0.7, 0.6]),
    )


def test_a_find_in_a_crowd_is_neither_right_nor_wrong() -> None:
    ranked = {one.image: (one.missed, one.wrong) for one in worst_images(truth(), in_the_crowd())}
    assert ranked == {0: (0, 1), 1: (2, 0), 3: (0, 1)}
    left = without_ignored(truth(), in_the_crowd())
    assert left.score.tolist() == [0.9, 0.8, 0.6]
    assert true_positives(truth(), left).tolist() == [True, False, False]
    result = report_data(truth(), in_the_crowd(), score(truth(), in_the_crowd()), small)
    crowded = next(one for one in result["pictures"] if one["name"] == "13.jpg")
    assert [(one["name"], one["right"]) for one in crowded["found"]] == [("dog", False)]
    assert sum(one["wrong"] for one in result["pictures"]) == 2
    assert {kind: number for kind, number in result["mistakes"].items() if number} == {
        "right": 1, "duplicate": 1, "background": 1, "missed": 2,
    }  # fmt: skip


def test_finds_of_low_score_are_not_drawn() -> None:
    faint = Predictions(found().image, found().category, found().boxes, np.array([0.9, 0.1, 0.1]))
    result = report_data(truth(), faint, score(truth(), faint), small)
    assert [len(one["found"]) for one in result["pictures"]] == [0, 0, 1]
    assert result["pictures"][0]["faint"] == [{"box": [0, 0, 10, 10], "name": "dog", "score": 0.1}]
    assert result["pictures"][2]["faint"] == []


def test_of_many_classes_the_most_confused_stay_and_background_is_last() -> None:
    confusion = np.zeros((40, 40), int)
    confusion[30, 31] = 5
    confusion[7, 39] = 3
    kept = most_confused(confusion, most=4)
    assert kept[-1] == 39
    assert {30, 31, 7} == set(kept[:-1])
    assert most_confused(np.zeros((3, 3), int)) == [0, 1, 2]
