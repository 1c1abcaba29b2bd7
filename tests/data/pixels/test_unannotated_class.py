"""A class that one part of the images lacks: not annotated, or not there."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from holdfast.data.pixels import unannotated_class
from holdfast.data.pixels.look_sample import CloseLook

from .scenes import look


def without(one: CloseLook, name: str) -> CloseLook:
    kept = [at for at, named in enumerate(one.names) if named != name]
    return replace(one, boxes=one.boxes[kept], names=tuple(one.names[at] for at in kept))


def painted_over(one: CloseLook, name: str) -> CloseLook:
    """The things themselves are gone."""
    pixels = one.pixels.copy()
    for named, (x1, y1, x2, y2) in zip(one.names, one.boxes.astype(int), strict=True):
        if named == name:
            pixels[y1:y2, x1:x2] = pixels[:4, :4].reshape(-1, 3).mean(0)
    return without(replace(one, pixels=pixels), name)


def two_labs(change: Callable[[CloseLook, str], CloseLook]) -> list[CloseLook]:
    looks = [look(n, f"d/{'oslo' if n % 3 else 'bonn'}_{n:03d}.jpg", things=5) for n in range(96)]
    return [change(one, "red") if "bonn" in one.file else one for one in looks]


def found(looks: list[CloseLook]) -> list[tuple[str, int]]:
    return [(one.finding, one.count) for one in unannotated_class.problems(looks, "d")]


def test_a_class_that_one_lab_left_out() -> None:
    looks = two_labs(without)
    ((slug, count),) = found(looks)
    assert (slug, count) == ("class-not-annotated", 32)
    (one,) = unannotated_class.problems(looks, "d")
    assert "none of 32 images with 'bonn' in their names" in one.detail
    assert one.detail.startswith("'red' is in ")


def test_a_class_that_is_not_there() -> None:
    assert found(two_labs(painted_over)) == []


def test_images_sorted_by_what_is_in_them() -> None:
    """Each class has images of its own, called like it."""
    looks = []
    for n in range(90):
        kind = ("red", "green", "sand")[n % 3]
        one = look(n, f"d/{kind}_{n:03d}.jpg", things=6)
        for other in {"red", "green", "sand"} - {kind}:
            one = without(one, other)
        looks.append(one)
    assert found(looks) == []


def test_few_images_and_rare_classes() -> None:
    assert found(two_labs(without)[:20]) == []
    rare = [without(one, "red") if at % 7 else one for at, one in enumerate(two_labs(lambda one, _: one))]
    assert found(rare) == []
    assert found([]) == []
