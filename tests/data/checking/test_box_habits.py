"""What only all boxes together give away."""

from __future__ import annotations

from holdfast.data.checking.box_habits import BoxHabits, is_doubled, overlap, twin_groups
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
    assert twin_groups([box(0, 0), box(1, 1), box(2, 2), box(200, 0)]) == [3]
    assert twin_groups([box(0, 0), box(0, 0), box(200, 0), box(201, 0)]) == [2]
    small = [box(10, 10, 16, 16), box(12, 11, 15, 17), box(40, 10, 16, 16), box(48, 10, 16, 16)]
    assert twin_groups(small) == [2]


def test_two_hands_in_a_part_of_the_images() -> None:
    objects = [box(60 * at, 50 * at, 20 + at, 18, name="car" if at % 2 else "bus") for at in range(5)]
    hands = [Box(one.x1 + 2, one.y1 - 1, one.x2 + 1, one.y2 + 2, one.name) for one in objects]
    assert found([objects + hands] * 4 + [objects] * 30) == {"near-duplicate-box": 20}
    assert found([objects + hands] * 2 + [objects] * 30) == {}


def test_stacks_and_single_slips_are_not_two_hands() -> None:
    stack = [box(50, 50 + 4 * at, 100, 60) for at in range(6)]
    slip = [box(60 * at, 50 * at, 40, 30) for at in range(5)] + [box(1, 1, 40, 30)]
    assert found([stack] * 5 + [slip] * 5 + [slip[:5]] * 40) == {}
    assert is_doubled([2, 2, 2], 6) and is_doubled([3, 3], 7)
    assert not is_doubled([2], 2) and not is_doubled([6], 6) and not is_doubled([2, 2], 9)
