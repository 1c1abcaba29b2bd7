"""Boxes that belong to other images, and boxes that only look as if they did."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from holdfast.data.pixels.unrelated_boxes import problems

from .scenes import look


def dealt_out(looks, by=17):
    """Each image with the boxes of another one."""
    others = looks[by:] + looks[:by]
    return [
        replace(one, boxes=other.boxes, names=other.names) for one, other in zip(looks, others, strict=True)
    ]


def test_boxes_of_other_images() -> None:
    (found,) = problems(dealt_out([look(n) for n in range(60)]), "set")
    assert (found.finding, found.file, found.count) == ("unrelated-boxes", "set", 60)
    assert "across boxes of other images laid beside them" in found.detail


def test_boxes_on_objects_loose_ones_and_few() -> None:
    looks = [look(n) for n in range(60)]
    loose = [replace(one, boxes=one.boxes + np.array([-4, -5, 5, 4])) for one in looks]
    for given in (looks, loose, dealt_out(looks)[:30], []):
        assert list(problems(given, "set")) == []


def test_one_thing_in_the_middle_of_every_image() -> None:
    """Boxes of other images lie on it as well."""
    looks = []
    for n in range(60):
        pixels, at = look(n, things=0).pixels.copy(), 50 + n % 20
        pixels[40:80, at : at + 40] = 240
        box = np.array([[at, 40.0, at + 40, 80]])
        looks.append(replace(look(n), pixels=pixels, boxes=box, names=("thing",)))
    assert list(problems(looks, "set")) == []
