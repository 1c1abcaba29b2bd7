"""Boxes turned upright land on the same pixels as the image turned by Pillow."""

from __future__ import annotations

import pytest
from PIL import Image, ImageOps

from holdfast.data.images.exif import boxes_frame, fits, turned_upright
from holdfast.data.records import Box

STORED = (60, 40)


@pytest.mark.parametrize("orientation", range(1, 9))
def test_the_box_follows_the_pixels(orientation: int) -> None:
    image = Image.new("L", STORED)
    image.paste(255, (5, 3, 20, 11))
    exif = Image.Exif()
    exif[0x0112] = orientation
    image.info["exif"] = exif.tobytes()
    upright = ImageOps.exif_transpose(image)
    box = turned_upright(Box(5, 3, 20, 11, "a"), STORED, orientation)
    assert upright.getbbox() == box.corners


def test_boxes_that_fit_one_frame_prove_it() -> None:
    tall = (Box(2, 45, 30, 58, "a"),)  # 40 wide and 60 high once turned
    frame = boxes_frame(STORED, 6, None, tall)
    assert (frame.name, frame.proof) == ("upright", "the boxes fit 40x60 and not 60x40")
    wide = (Box(45, 2, 58, 30, "a"),)
    assert boxes_frame(STORED, 6, None, wide).name == "stored"
    assert (
        boxes_frame(STORED, 6, (40, 60), wide).name == "stored"
    )  # the boxes weigh more than the declaration


def test_a_declared_size_decides_where_boxes_fit_both() -> None:
    small = (Box(2, 2, 10, 10, "a"),)
    assert boxes_frame(STORED, 8, (60, 40), small).name == "stored"
    assert boxes_frame(STORED, 8, (40, 60), small).name == "upright"
    assert boxes_frame(STORED, 8, None, small).name == "unclear"
    assert boxes_frame(STORED, 3, (60, 40), small).name == "unclear"
    assert boxes_frame(STORED, 1, None, small).name == "upright"


def test_numbers_that_are_not_finite_say_nothing_about_fit() -> None:
    assert fits((Box(float("nan"), 0, 1, 1, "a"),), (10, 10))
    assert not fits((Box(0, 0, 12, 5, "a"),), (10, 10))
    assert fits((Box(0, 0, 11, 5, "a"),), (10, 10))
