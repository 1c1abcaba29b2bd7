"""Only regular files are read, without waiting, and never more than the bound."""

from __future__ import annotations

import os
import socket
import zipfile
from pathlib import Path

import pytest

from holdfast import regular_file


def test_what_is_no_regular_file_is_named(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    server = socket.socket(socket.AF_UNIX)
    server.bind(str(tmp_path / "socket"))
    (tmp_path / "zero").symlink_to("/dev/zero")
    for name, what in (
        ("fifo", "this is a FIFO"),
        ("socket", "this is a socket"),
        ("zero", "this is a device"),
    ):
        with pytest.raises(OSError, match=what):
            regular_file.read_bytes(tmp_path / name, most=10)
    server.close()
    with pytest.raises(IsADirectoryError):
        regular_file.open_regular(tmp_path)


def test_links_are_refused_where_they_may_lead_outside(tmp_path: Path) -> None:
    (tmp_path / "private").write_text("secret")
    (tmp_path / "link").symlink_to("private")
    assert regular_file.read_text(tmp_path / "link", most=100) == "secret"
    with pytest.raises(OSError, match="symbolic link"):
        regular_file.read_text(tmp_path / "link", most=100, links=False)


@pytest.mark.parametrize("name", ["a\0b", "\ud800"])
def test_a_name_that_no_file_can_have_is_that_of_a_missing_one(name: str) -> None:
    with pytest.raises(FileNotFoundError, match="no file can have this name"):
        regular_file.read_bytes(name, most=10)


def test_more_than_the_bound_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "large"
    path.write_bytes(b"x" * 2049)
    assert len(regular_file.read_bytes(path, most=2049)) == 2049
    with pytest.raises(OSError, match="larger than 2 KiB"):
        regular_file.read_bytes(path, most=2048)


def test_brackets_without_end_are_no_json() -> None:
    with pytest.raises(ValueError, match="nested too deeply"):
        regular_file.parse_json("[" * 200_000)


def test_an_archive_that_unpacks_without_end_is_refused(tmp_path: Path) -> None:
    bomb = tmp_path / "model.npz"
    with (
        zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as archive,
        archive.open("a.npy", "w", force_zip64=True) as member,
    ):
        for _ in range(300):
            member.write(bytes(1 << 20))
    with pytest.raises(ValueError, match="unpacks to 300 MiB from 0 MiB"):
        regular_file.refuse_bomb(bomb)


def test_what_numpy_raises_for_a_header_that_python_cannot_read_is_known(tmp_path: Path) -> None:
    """It goes through Python's tokenizer, whose error is none of the others."""
    numpy = pytest.importorskip("numpy")
    header = b"{'descr': '<f4', 'fortran_order': False, 'shape': (3L, (, }".ljust(118) + b"\n"
    (tmp_path / "a.npy").write_bytes(b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header)
    with pytest.raises(regular_file.UNREADABLE_ARCHIVE):
        numpy.load(tmp_path / "a.npy")
