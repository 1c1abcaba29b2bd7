"""What a picture is found to be, for every way in which one can be wrong."""

from __future__ import annotations

import os
import struct
import zlib
from pathlib import Path

import pytest

from holdfast.data.pictures import examine, header_of, probe
from holdfast.data.records import Picture

from . import made


@pytest.mark.parametrize("format", ["JPEG", "PNG", "BMP", "GIF", "WEBP", "TIFF", "PPM"])
def test_every_format_is_decoded(format: str) -> None:
    facts = examine(made.picture(30, 20, format=format))
    assert (facts.problem, facts.format, facts.size) == ("", format, (30, 20))


def test_a_cut_jpeg_is_truncated() -> None:
    data = made.picture(400, 300, seed=3)
    assert examine(data[: len(data) // 2]).problem == "truncated-image"
    assert examine(data[:-2]).problem == "truncated-image"
    assert examine(data).problem == ""


def test_a_cut_png_is_truncated() -> None:
    data = made.picture(400, 300, format="PNG")
    assert examine(data[: len(data) // 2]).problem == "truncated-image"
    assert examine(data[:-12]).problem == "truncated-image"


@pytest.mark.parametrize(
    ("data", "problem", "says"),
    [
        (b"", "unreadable-image", "the file is empty: 0 bytes"),
        (b"\0" * 900, "unreadable-image", "900 bytes, all of them zero"),
        (b"<!DOCTYPE html><html>404", "unreadable-image", "web page"),
        (b"version https://git-lfs.github.com/spec/v1\noid", "unreadable-image", "Git LFS"),
        (b"\0\0\0\x18ftypheic\0\0", "unreadable-image", "HEIC"),
        (b"hello", "unreadable-image", "no picture format begins with b'hello'"),
    ],
)
def test_what_is_no_picture_says_what_it_is(data: bytes, problem: str, says: str) -> None:
    facts = examine(data)
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
    facts = examine(data)
    assert facts.problem == "decompression-bomb"
    assert facts.detail.startswith("40000x40000 is 1600 megapixels in ")


def test_modes() -> None:
    assert examine(made.picture(mode="CMYK")).mode == "CMYK"
    assert examine(made.picture(mode="L")).mode == "L"
    assert examine(made.picture(mode="P", format="PNG")).mode == "P"
    assert examine(made.picture(mode="I;16", format="PNG")).mode == "I;16"


def test_orientation_turns_the_size() -> None:
    facts = examine(made.rotated(40, 20, 6))
    assert (facts.size, facts.upright_size, facts.orientation) == ((40, 20), (20, 40), 6)
    assert examine(made.rotated(40, 20, 3)).upright_size == (40, 20)


def test_the_header_of_a_cut_file_still_has_the_size() -> None:
    found = header_of(made.picture(400, 300)[:700])
    assert found is not None and found.size == (400, 300)


def test_a_pipe_is_not_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a.jpg")
    facts = probe(Picture(str(tmp_path / "a.jpg")))
    assert (facts.problem, facts.detail) == (
        "unreadable-image",
        "this is a folder, a pipe or a device, not a file",
    )


def test_a_missing_file() -> None:
    assert probe(Picture("/nowhere/a.jpg")).problem == "missing-image"
    assert probe(Picture("/nowhere/\0.jpg")).problem == "unreadable-image"
