"""Small images for a page: upright, and as bright as the image."""

from __future__ import annotations

import io

import pytest
from PIL import Image, ImageChops

from holdfast.data.images.thumbnails import thumbnail

from . import made


@pytest.mark.parametrize(("format", "mode"), [("PNG", "I;16"), ("TIFF", "I;16B")])
def test_sixteen_bits_are_shown_by_their_high_byte(format: str, mode: str) -> None:
    _, small = thumbnail(made.sixteen_bits(format=format, mode=mode))
    shown = Image.open(io.BytesIO(small))
    difference = ImageChops.difference(shown, made.high_bytes())
    assert max(high for _, high in difference.getextrema()) <= 16  # JPEG's


def test_a_turned_tiff_is_shown_upright_in_its_own_frame() -> None:
    facts, small = thumbnail(made.turned_tiff(64, 48, 6))
    shown = Image.open(io.BytesIO(small))
    assert shown.size == facts.upright_size == (48, 64)
    assert shown.getpixel((42, 8))[2] > 200 and shown.getpixel((6, 8))[2] < 50
