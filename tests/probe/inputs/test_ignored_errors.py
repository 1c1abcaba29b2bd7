"""Records counted by the lengths that are written in a file."""

from __future__ import annotations

import struct
from pathlib import Path

from holdfast.probe.inputs.ignored_errors import records_written


def _record(payload: bytes) -> bytes:
    return struct.pack("<Q", len(payload)) + b"\0" * 4 + payload + b"\0" * 4


def test_whole_records_are_counted(tmp_path: Path) -> None:
    path = tmp_path / "a.tfrecord"
    path.write_bytes(_record(b"one") + _record(b"") + _record(b"three"))
    assert records_written(str(path)) == 3


def test_a_record_that_is_cut_counts_as_one(tmp_path: Path) -> None:
    path = tmp_path / "a.tfrecord"
    path.write_bytes((_record(b"one") + _record(b"two" * 9))[:-7])
    assert records_written(str(path)) == 2


def test_a_header_that_is_cut_counts_as_one(tmp_path: Path) -> None:
    path = tmp_path / "a.tfrecord"
    path.write_bytes(_record(b"one") + b"\5\0\0")
    assert records_written(str(path)) == 2


def test_an_empty_or_missing_file_has_none(tmp_path: Path) -> None:
    (tmp_path / "a.tfrecord").touch()
    assert records_written(str(tmp_path / "a.tfrecord")) == 0
    assert records_written(str(tmp_path / "no.tfrecord")) == 0
