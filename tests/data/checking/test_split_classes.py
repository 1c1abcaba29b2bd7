"""Classes that a split lacks, by more than chance."""

from __future__ import annotations

from holdfast.data.checking.split_classes import SplitClasses
from holdfast.data.records import Box, ImageRef, Record

Images = dict[str, list[str]]  # by split, the classes of each image, a letter each


def found(images: Images) -> list[str]:
    counted = SplitClasses()
    for split, classes in images.items():
        for at, names in enumerate(classes):
            boxes = tuple(Box(1, 1, 9, 9, name) for name in names)
            counted.add(Record(f"{split}{at}", "a.jpg", ImageRef("a.jpg"), boxes, split))
    return [f"{one.detail} [{one.count}]" for one in counted.problems("d")]


def test_a_sorted_list_that_was_cut() -> None:
    images = {"train": ["a"] * 30 + ["b"] * 30 + ["c"] * 20 + ["d"] * 6, "test": ["d"] * 26}
    assert found(images) == [
        "no box in test, and boxes in images of train: 'a' (30), 'b' (30), 'c' (20) [3]",
        "'d' is in 26 of 26 images of test, and in 6 of 86 of train [1]",
    ]


def test_many_classes_of_which_none_alone_is_strange() -> None:
    sorted_names = [letter for letter in "abcdefghijkl" for _ in range(12)]
    assert found({"train": sorted_names[:124], "val": sorted_names[124:]})[0].startswith(
        "no box in val, and boxes in"
    )
    mixed = [letter for _ in range(12) for letter in "abcdefghijkl"]
    assert found({"train": mixed[:124], "val": mixed[124:]}) == []


def test_a_class_that_is_never_trained() -> None:
    """Of a class that is validated and never trained `unlearned-class` speaks."""
    trained, other = ["a", "b"] * 30, ["ac", "b", "ac", "ac"] * 3
    assert found({"train": trained, "val": ["a", "b"] * 3, "test": other}) == [
        "no box in train, and boxes in images of test: 'c' (9) [1]"
    ]
    assert found({"train": trained, "valid": other}) == []


def test_what_chance_does() -> None:
    rare = {"train": ["a"] * 200 + ["ab"] * 4, "val": ["a"] * 40, "test": ["a"] * 40}
    few = {"train": ["a", "b", "c", "d"] * 10, "val": ["a"] * 6}
    unseen = {"train": ["a"] * 100, "val": ["ab"] * 2 + ["a"] * 30}
    shared = {"train": ["a", "ab"] * 40, "val": ["ab", "a"] * 10, "": []}
    for images in (rare, few, unseen, shared, {"train": ["a"] * 50}, {"test": ["a"] * 50}):
        assert found(images) == []


def test_an_unannotated_test_split_says_nothing() -> None:
    assert found({"train": ["a", "b"] * 30, "test": [""] * 60}) == []
