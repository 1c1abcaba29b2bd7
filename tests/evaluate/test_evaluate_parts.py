import math

import numpy as np
import pytest

from holdfast.evaluate.box_columns import GroundTruth, Predictions
from holdfast.evaluate.coco_metrics import score
from holdfast.evaluate.mistakes import count
from holdfast.evaluate.summary import as_json, as_text, evaluate
from holdfast.evaluate.voc_metrics import average_precision


def truth(*rows, images=2, names=("cat", "dog")):
    """rows: (image, category, x, y, w, h[, crowd])"""
    rows = [row if len(row) == 7 else (*row, 0) for row in rows]
    table = np.array(rows, dtype=float).reshape(-1, 7)
    return GroundTruth(
        tuple(range(images)), tuple(enumerate(names)), table[:, 0].astype(int), table[:, 1].astype(int),
        table[:, 2:6], table[:, 6].astype(bool), table[:, 4] * table[:, 5],
    )  # fmt: skip


def found(*rows):
    """rows: (image, category, x, y, w, h, score)"""
    table = np.array(rows, dtype=float).reshape(-1, 7)
    return Predictions(table[:, 0].astype(int), table[:, 1].astype(int), table[:, 2:6], table[:, 6])


CAT = (0, 0, 10, 10, 50, 50)
DOG = (0, 1, 100, 100, 50, 50)


def test_perfect_detections_score_one():
    result = score(truth(CAT, DOG), found((*CAT, 0.9), (*DOG, 0.8)))
    assert result.numbers["AP"] == pytest.approx(1.0)
    assert result.numbers["APs"] == -1  # nothing under 32 x 32 is there
    assert result.numbers["APm"] == pytest.approx(1.0)
    assert [one.boxes for one in result.classes] == [1, 1]
    assert result.classes[0].curves[0].precision == pytest.approx([1.0] * 101)


def test_no_detections_score_zero():
    numbers = score(truth(CAT, DOG), found()).numbers
    assert (numbers["AP"], numbers["AR100"], numbers["APl"]) == (0.0, 0.0, -1.0)


def test_a_truth_without_boxes_scores_minus_one():
    assert set(score(truth(), found((*CAT, 0.9))).numbers.values()) == {-1.0}


def test_half_of_the_boxes_found_by_hand():
    other = (1, 0, 10, 10, 50, 50)
    numbers = score(truth(CAT, other), found((*CAT, 0.9))).numbers
    # precision 1 up to recall 0.5: 51 of the 101 points
    assert numbers["AP50"] == pytest.approx(51 / 101)
    assert numbers["AR100"] == pytest.approx(0.5)


def test_ap_over_overlaps_by_hand():
    # 50 x 50 against 50 x 40: IoU 0.8, right at .5, .55 … .75 (.8 itself hangs on a bit): 6 or 7 of 10
    numbers = score(truth(CAT), found((0, 0, 10, 10, 50, 41, 0.9))).numbers  # 0.82: 7 of 10
    assert numbers["AP"] == pytest.approx(0.7)


def test_only_a_hundred_of_an_image_and_class_count():
    many = [(0, 0, 300 + i, 300, 5, 5, 0.9 - i / 1000) for i in range(100)]
    numbers = score(truth(CAT), found(*many, (*CAT, 0.1))).numbers
    assert numbers["AP"] == 0.0
    kept = found(*many, (*CAT, 0.1)).that_count()
    assert len(kept) == 100
    assert kept.score.min() > 0.1


def test_voc_by_hand():
    # right, wrong, right of 2 boxes: precision 1 to recall .5, 2/3 to recall 1
    other = (1, 0, 10, 10, 50, 50)
    seen = found((*CAT, 0.9), (0, 0, 300, 300, 9, 9, 0.8), (*other, 0.7))
    assert average_precision(truth(CAT, other), seen, 0) == pytest.approx(0.5 * 1 + 0.5 * 2 / 3)
    eleven = average_precision(truth(CAT, other), seen, 0, eleven_points=True)
    assert eleven == pytest.approx((6 * 1 + 5 * 2 / 3) / 11)
    assert average_precision(truth(CAT, other), seen, 1) == -1.0


def test_each_kind_of_mistake_once():
    there = truth(CAT, DOG, (1, 0, 10, 10, 50, 50))
    seen = found(
        (*CAT, 0.95),  # right
        (0, 0, 12, 10, 50, 50, 0.9),  # duplicate
        (0, 0, 100, 100, 50, 50, 0.85),  # the dog called a cat
        (1, 0, 40, 10, 50, 50, 0.8),  # overlaps the second cat by 20/80: localisation
        (1, 1, 40, 10, 50, 50, 0.7),  # the same, called a dog
        (1, 1, 400, 400, 9, 9, 0.6),  # nothing there
        (1, 1, 400, 400, 9, 9, 0.1),  # below the score
    )
    result = count(there, seen)
    assert result.right == 1
    assert result.kinds == {
        "localisation": 1, "class": 1, "class-and-localisation": 1, "duplicate": 1, "background": 1, "missed": 2,
    }  # fmt: skip
    assert result.confusion.tolist() == [[1, 0, 1], [1, 0, 0], [2, 2, 0]]


def test_what_lies_in_a_crowd_is_not_counted():
    there = truth((0, 0, 0, 0, 200, 200, 1))
    result = count(there, found((0, 0, 10, 10, 20, 20, 0.9)))
    assert result.right == 0
    assert sum(result.kinds.values()) == 0
    assert result.confusion.sum() == 0
    assert (
        average_precision(
            truth((0, 0, 0, 0, 20, 20, 1), CAT), found((0, 0, 0, 0, 20, 20, 0.9), (*CAT, 0.8)), 0
        )
        == 1
    )


CROWD = (0, 0, 0, 0, 200, 200, 1)
THREE = found((*CAT, 0.9), (0, 0, 12, 10, 50, 50, 0.8), (0, 0, 120, 120, 20, 20, 0.7))


def test_a_second_find_in_a_crowd_is_not_counted_as_coco_does():
    # The first has the cat, the second would be its duplicate, the third lies in the crowd alone.
    there = truth(CAT, CROWD)
    result = count(there, THREE)
    assert result.right == 1
    assert sum(result.kinds.values()) == 0
    assert result.confusion.tolist() == [[1, 0, 0], [0, 0, 0], [0, 0, 0]]
    assert score(there, THREE).numbers["AP50"] == pytest.approx(1.0)
    assert count(truth(CAT), THREE).kinds["duplicate"] == 1, "without the crowd it is one"


def test_a_crowd_of_another_class_excuses_nothing():
    result = count(truth(CAT, (0, 1, *CROWD[2:])), THREE)
    assert (result.right, result.kinds["duplicate"], result.kinds["background"]) == (1, 1, 1)


def test_json_has_the_names_of_the_contract():
    printed = as_json(evaluate(truth(CAT, DOG), found((*CAT, 0.9))))
    assert " ".join(list(printed)[:12]) == "AP AP50 AP75 APs APm APl AR1 AR10 AR100 ARs ARm ARl"
    assert printed["AP"] == pytest.approx(0.5)
    assert printed["classes"][0]["AP50"] == pytest.approx(1.0)
    assert printed["confusion"]["true_by_found"] == [[1, 0, 0], [0, 0, 1], [0, 0, 0]]
    assert all(math.isfinite(value) for value in printed["classes"][0]["precision_at_recall"]["0.5"])


def test_the_text():
    text = as_text(evaluate(truth(CAT, DOG), found((*CAT, 0.9))))
    assert (
        text
        == """\
AP 0.500   AP50 0.500   AP75 0.500   (2 images, 2 boxes, 1 detections)

                all    small  medium  large
  precision   0.500      –  0.500      –
  recall      0.500      –  0.500      –
  recall with 1, 10, 100 detections an image: 0.500, 0.500, 0.500
  VOC mAP at overlap 0.5: 0.500

  class  boxes     AP   AP50   AP75
  dog        1  0.000  0.000  0.000
  cat        1  1.000  1.000  1.000

  of the detections scored 0.25 or more, at overlap 0.5:
       1  right
       0  right class, box off
       0  right box, wrong class
       0  wrong class, box off
       0  found a second time
       0  nothing is there
       1  boxes that nothing found"""
    )
