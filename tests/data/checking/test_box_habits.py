"""What only all boxes together give away."""

from __future__ import annotations

from holdfast.data.checking.box_habits import BoxHabits, overlap, twin_count
from holdfast.data.records import Box, ImageRef, Record

SIZE = (640, 480)


def found(images: list[list[Box]]) -> dict[str, int]:
    habits = BoxHabits()
    for at, boxes in enumerate(images):
        habits.add(Record(str(at), f"{at}.jpg", ImageRef(f"{at}.jpg"), tuple(boxes)), SIZE, f"{at}.jpg")
    return {problem.finding: problem.count for problem in habits.problems("d")}


def box(x: float, y: float, w: float = 100, h: float = 80, name: str = "cat", crowd: bool = False) -> Box:
    return Box(x, y, x + w, y + h, name, crowd=crowd)


def test_all_crowds_and_some() -> None:
    assert found([[box(10, 10, crowd=True)]] * 3) == {"only-crowds": 3}
    assert found([[box(10, 10, crowd=True)]] * 30 + [[box(10, 10)]]) == {}


def test_boxes_of_complete_images() -> None:
    whole = Box(0, 0, 640, 480, "cat")
    assert found([[whole]] * 12) == {"complete-image-box": 12}
    assert found([[whole]] * 10 + [[box(50, 60)]] * 11) == {}
    assert found([[Box(0, 0, 640, 400, "cat")]] * 12) == {}


def test_two_hands_that_drew_each_object() -> None:
    pair = [box(50, 60), box(52, 59), box(300, 200, name="dog"), box(299, 202, name="dog")]
    assert found([pair] * 10) == {"near-duplicate-box": 20}


def test_overlapping_objects_are_no_twins() -> None:
    crates = [box(50, 60), box(62, 66), box(300, 200), box(300, 200, name="lid")]
    assert found([crates] * 10) == {}
    # Equal boxes are another finding, and twins in one image of many are a slip.
    assert found([[box(50, 60), box(50, 60)]] * 10) == {}
    assert found([[box(50, 60), box(51, 61)] * 3] + [[box(50, 60)]] * 12) == {}


def test_overlap_and_twins() -> None:
    assert overlap(box(0, 0), box(50, 0)) == 1 / 3
    assert overlap(box(0, 0), box(100, 0)) == 0.0
    assert twin_count([box(0, 0), box(1, 1), box(2, 2), box(200, 0)]) == 2
