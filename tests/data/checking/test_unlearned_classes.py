"""Classes that are validated and never trained."""

from __future__ import annotations

from holdfast.data.checking.unlearned_classes import unlearned_classes


def test_classes_of_the_validation_alone() -> None:
    boxes = {"train": {"cat": 5}, "val": {"cat": 2, "dog": 3, "ant": 1}}
    assert unlearned_classes(boxes) == {"ant": 1, "dog": 3}
    assert unlearned_classes({"train": {"cat": 5, "dog": 1, "ant": 1}, "val": boxes["val"]}) == {}


def test_what_has_no_split_is_trained_on() -> None:
    assert unlearned_classes({None: {"cat": 5}}) == {}
    assert unlearned_classes({None: {"dog": 1}, "train": {"cat": 5}, "val": {"dog": 3}}) == {}
    assert unlearned_classes({"train": {"cat": 5}}) == {}


def test_a_training_set_without_boxes_is_another_fault() -> None:
    assert unlearned_classes({"train": {}, "val": {"dog": 3}}) == {}
