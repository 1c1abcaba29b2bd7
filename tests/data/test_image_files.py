"""What an image is found to be, for every way in which one can be wrong."""

from __future__ import annotations

import io
import os
import struct
import zlib
from pathlib import Path

import pytest
from PIL import Image

from holdfast.data.images.image_file import (
    as_rgb,
    examine_bytes,
    header_of,
    open_image,
    probe_image,
    unsupported_kind,
)
from holdfast.data.records import ImageRef

from . import made


@pytest.mark.parametrize("format", ["JPEG", "PNG", "BMP", "GIF", "WEBP", "TIFF", "PPM"])
def test_every_format_is_decoded(format: str) -> None:
    facts = examine_bytes(made.image(30, 20, format=format))
    assert (facts.problem, facts.format, facts.size) == ("", format, (30, 20))


def test_a_cut_jpeg_is_truncated() -> None:
    data = made.image(400, 300, seed=3)
    assert examine_bytes(data[: len(data) // 2]).problem == "truncated-image"
    assert examine_bytes(data[:-2]).problem == "truncated-image"
    assert examine_bytes(data).problem == ""


def test_a_cut_png_is_truncated() -> None:
    data = made.image(400, 300, format="PNG")
    assert examine_bytes(data[: len(data) // 2]).problem == "truncated-image"
    assert examine_bytes(data[:-12]).problem == "truncated-image"


@pytest.mark.parametrize(
    ("data", "problem", "says"),
    [
        (b"", "unreadable-image", "the file is empty: 0 bytes"),
        (b"\0" * 900, "unreadable-image", "900 bytes, all of them zero"),
        (b"<!DOCTYPE html><html>404", "unreadable-image", "web page"),
        (b"version https://git-lfs.github.com/spec/v1\noid", "unreadable-image", "Git LFS"),
        (b"\0\0\0\x18ftypheic\0\0", "unreadable-image", "HEIC"),
        (b"hello", "unreadable-image", "no image format begins with b'hello'"),
    ],
)
def test_what_is_no_image_says_what_it_is(data: bytes, problem: str, says: str) -> None:
    facts = examine_bytes(data)
    assert facts.problem == problem
    assert says in facts.detail


def test_a_bomb_is_refused_before_it_is_decoded() -> None:
    def chunk(kind: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    header = struct.pack(">IIBBBBB", 40_000, 40_000, 8, 2, 0, 0, 0)
    data = (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", header)
        + chunk(b"IDAT", zlib.compress(bytes(1000)))
        + chunk(b"IEND", b"")
    )
    facts = examine_bytes(data)
    assert facts.problem == "decompression-bomb"
    assert facts.detail.startswith("40000x40000 is 1600 megapixels in ")


def test_modes() -> None:
    assert examine_bytes(made.image(mode="CMYK")).mode == "CMYK"
    assert examine_bytes(made.image(mode="L")).mode == "L"
    assert examine_bytes(made.image(mode="P", format="PNG")).mode == "P"
    assert examine_bytes(made.image(mode="I;16", format="PNG")).mode == "I;16"


def test_orientation_turns_the_size() -> None:
    facts = examine_bytes(made.rotated(40, 20, 6))
    assert (facts.size, facts.upright_size, facts.orientation) == ((40, 20), (20, 40), 6)
    assert examine_bytes(made.rotated(40, 20, 3)).upright_size == (40, 20)


@pytest.mark.parametrize("orientation", range(1, 9))
@pytest.mark.parametrize("compression", [None, "tiff_lzw"])  # two ways through Pillow
def test_a_tiff_is_upright_by_the_time_that_anyone_sees_its_pixels(
    orientation: int, compression: str
) -> None:
    data = made.turned_tiff(64, 48, orientation, compression=compression)
    upright = (48, 64) if orientation >= 5 else (64, 48)
    for facts in (header_of(data), examine_bytes(data)):
        assert facts is not None
        assert (facts.size, facts.upright_size, facts.orientation) == (upright, upright, 1)
    image = open_image(data)
    image.load()
    assert image.size == upright


@pytest.mark.parametrize(
    ("format", "mode"), [("PNG", "I;16"), ("TIFF", "I;16"), ("TIFF", "I;16B"), ("PPM", "I;16")]
)
def test_of_sixteen_bits_the_high_byte_is_kept(format: str, mode: str) -> None:
    data = made.sixteen_bits(format=format, mode=mode)
    assert examine_bytes(data).mode == "I;16"
    assert as_rgb(open_image(data)).tobytes() == made.high_bytes().tobytes()


def test_integers_and_fractions_in_four_bytes() -> None:
    integers = Image.frombytes("I", (4, 1), struct.pack("<4i", -5, 511, 40_000, 70_000))
    assert list(as_rgb(integers).convert("L").tobytes()) == [0, 1, 156, 255]
    fractions = Image.frombytes("F", (4, 1), struct.pack("<4f", -0.5, 0.0, 0.5, 1.0))
    assert list(as_rgb(fractions).convert("L").tobytes()) == [0, 0, 127, 255]
    levels = Image.frombytes("F", (4, 1), struct.pack("<4f", -3.0, 0.5, 127.0, 300.0))
    assert list(as_rgb(levels).convert("L").tobytes()) == [0, 0, 127, 255]


def test_colours_are_left_as_they_are() -> None:
    data = made.image(format="PNG", mode="P")
    assert as_rgb(open_image(data)).tobytes() == Image.open(io.BytesIO(data)).convert("RGB").tobytes()


def test_kinds_that_training_does_not_decode() -> None:
    assert {kind: unsupported_kind(examine_bytes(data)) for kind, data in made.odd_images().items()} == {
        kind: kind for kind in made.odd_images()
    }
    for format in ("JPEG", "PNG", "BMP", "GIF", "WEBP"):
        assert unsupported_kind(examine_bytes(made.image(format=format))) == ""
    for mode in ("L", "RGBA"):
        assert unsupported_kind(examine_bytes(made.image(format="BMP", mode=mode))) == ""


GREY = b"".join(bytes((level, level, level, 0)) for level in range(256))
RUNS = b"\x08\x64\x00\x00" * 4 + b"\x00\x01"  # 8 pixels of 100, end of line; end of image


@pytest.mark.parametrize(
    ("data", "mode"),
    [
        (made.bmp(8, 0, bytes(32), GREY), "L"),
        (made.bmp(8, 1, RUNS, GREY), "packed"),
        (made.bmp(16, 3, bytes(64), struct.pack("<III", 0xF800, 0x7E0, 0x1F)), "packed"),
        (made.bmp(24, 0, bytes(96)), "RGB"),
        (made.bmp(32, 0, bytes(128)), "RGB"),
        (made.bmp(32, 3, bytes(128), struct.pack("<III", 0xFF0000, 0xFF00, 0xFF)), "RGB"),
        (made.bmp(32, 3, bytes(128), struct.pack("<III", 0xFF000000, 0xFF0000, 0xFF00)), "packed"),
        (made.os2_bmp(8, 4), "packed"),
    ],
)
def test_how_a_bmp_holds_its_pixels(data: bytes, mode: str) -> None:
    facts = examine_bytes(data)
    assert (facts.problem, facts.mode, facts.size) == ("", mode, (8, 4))


def test_the_smallest_bmp_is_shorter_than_the_usual_header() -> None:
    assert len(made.os2_bmp(1, 1)) == 30
    assert examine_bytes(made.os2_bmp(1, 1)).mode == "packed"


def test_the_header_of_a_cut_file_still_has_the_size() -> None:
    found = header_of(made.image(400, 300)[:700])
    assert found is not None and found.size == (400, 300)


def test_a_pipe_is_not_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a.jpg")
    facts = probe_image(ImageRef(str(tmp_path / "a.jpg")))
    assert (facts.problem, facts.detail) == (
        "unreadable-image",
        "this is a folder, a pipe or a device, not a file",
    )


def test_a_missing_file() -> None:
    assert probe_image(ImageRef("/nowhere/a.jpg")).problem == "missing-image"
    assert probe_image(ImageRef("/nowhere/\0.jpg")).problem == "unreadable-image"
