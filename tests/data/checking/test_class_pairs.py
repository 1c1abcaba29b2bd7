"""Equal boxes of two classes: kinds of a class are meant, slips are not."""

from __future__ import annotations

from collections import Counter

from holdfast.data.checking.class_pairs import ClassPairs
from holdfast.data.records import Box, ImageRef, Record


def found(images: list[list[str]]) -> Counter[str]:
    """Each image as objects, each of which has a box for each of its classes."""
    pairs = ClassPairs()
    for at, things in enumerate(images):
        boxes = [
            Box(40 * place, 10, 40 * place + 30, 50, name)
            for place, names in enumerate(things)
            for name in names.split("+")
        ]
        pairs.add(Record(str(at), f"{at}.jpg", ImageRef(f"{at}.jpg"), tuple(boxes)), f"{at}.jpg")
    said: Counter[str] = Counter()
    for one in pairs.problems():
        assert one.finding == "box-of-two-classes"
        said[one.detail.split(": ", 1)[1].split(" ", 2)[2]] += one.count
    return said


def test_a_slip_here_and_there() -> None:
    images = [["car", "truck", "car+truck"]] * 8 + [["car", "truck", "van"]] * 40
    assert found(images) == {"as 'car' and as 'truck'": 8}


def test_kinds_of_a_class() -> None:
    assert found([["Car+Vehicle", "Person"], ["Bus+Vehicle", "Car+Vehicle"]] * 30) == {}
    assert found([["Car+Vehicle", "Person"]] * 30) == {}  # no other vehicle was annotated
    assert found([["Car+Vehicle+Thing", "Person+Thing"]] * 30) == {}
    assert found([["Car+Vehicle", "Person"]] * 30 + [["Car"]]) == {}


def test_each_object_in_two_lists() -> None:
    images = [["car+auto", "person+mensch", "person+mensch"]] * 10
    assert found(images) == {"as 'car' and as 'auto'": 10, "as 'person' and as 'mensch'": 20}


def test_boxes_without_area_are_another_matter() -> None:
    pairs = ClassPairs()
    boxes = (Box(5, 5, 5, 5, "a"), Box(5, 5, 5, 5, "b"))
    pairs.add(Record("1", "1.jpg", ImageRef("1.jpg"), boxes), "1.jpg")
    assert list(pairs.problems()) == []
