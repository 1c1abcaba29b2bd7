"""Broken pictures and records, found by a few bytes of each file."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from holdfast.probe.inputs import bad_files


def _record(data: bytes) -> bytes:
    length = struct.pack("<Q", len(data))
    return (
        length
        + struct.pack("<I", bad_files.masked_crc32c(length))
        + data
        + struct.pack("<I", bad_files.masked_crc32c(data))
    )


def test_the_checksum_is_crc32c_as_tfrecord_masks_it() -> None:
    # CRC-32C of "123456789" is 0xE3069283 (RFC 3720, appendix B.4, names the polynomial)
    crc = 0xE3069283
    assert bad_files.masked_crc32c(b"123456789") == (((crc >> 15) | (crc << 17)) + 0xA282EAD8) & 0xFFFFFFFF


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        (b"\xff\xd8" + bytes(50) + b"\xff\xd9", None),
        (b"\xff\xd8" + bytes(50), "a JPEG without its end"),
        (b"\x89PNG\r\n\x1a\n" + bytes(50) + b"IEND\xaeB`\x82", None),
        (b"\x89PNG\r\n\x1a\n" + bytes(50), "a PNG without its end"),
        (b"<!DOCTYPE html>", "not an image"),
        (b"", "empty"),
        (b"RIFF\x00\x00\x00\x00WEBP", None),
    ],
)
def test_images_are_known_by_their_ends(content: bytes, fault: str | None, tmp_path: Path) -> None:
    path = tmp_path / "a.jpg"
    path.write_bytes(content)
    found = bad_files.image_fault(str(path))
    assert (found or {}).get("what") == fault


def test_an_image_that_is_not_there_is_told_with_its_number() -> None:
    assert bad_files.image_fault("/nowhere/a.jpg") == {
        "what": "cannot be read: No such file or directory",
        "errno": 2,
    }


def test_a_whole_file_of_records_has_no_fault(tmp_path: Path) -> None:
    path = tmp_path / "a.tfrecord"
    path.write_bytes(_record(b"one") + _record(b"two") + _record(b""))
    assert bad_files.record_fault(str(path), None) is None
    assert bad_files.record_fault(str(path), 19) is None


def test_a_flipped_bit_is_found_at_the_offset_that_tensorflow_names(tmp_path: Path) -> None:
    path = tmp_path / "a.tfrecord"
    path.write_bytes(_record(b"one") + _record(b"twO").replace(b"twO", b"two") + _record(b"three"))
    expected = {"what": "a record is damaged", "offset": 19, "bytes": 3}
    assert bad_files.record_fault(str(path), 19) == expected
    assert bad_files.record_fault(str(path), 19 + 12) == expected  # behind the header
    assert bad_files.record_fault(str(path), 0) is None


def test_an_offset_that_is_no_record_of_this_file_blames_another(tmp_path: Path) -> None:
    path = tmp_path / "a.tfrecord"
    path.write_bytes(_record(b"a longer record than the others") + _record(b"two"))
    assert bad_files.record_fault(str(path), 19) is None


@pytest.mark.parametrize(("cut", "what"), [(1, "cut inside a record"), (12, "cut inside a record's header")])
def test_a_cut_file_is_found_without_an_offset(cut: int, what: str, tmp_path: Path) -> None:
    path = tmp_path / "a.tfrecord"
    path.write_bytes((_record(b"one") + _record(b"two"))[:-cut])
    assert bad_files.record_fault(str(path), None) == {"what": what, "offset": 19}


def test_looking_ends_when_its_time_is_up() -> None:
    clock = iter(range(100))
    found = bad_files.examine(
        [f"{n}" for n in range(50)], lambda path: {"what": "bad"}, budget_s=5, monotonic=lambda: next(clock)
    )
    assert (found.looked_at, found.of, len(found.files)) == (5, 50, 5)
