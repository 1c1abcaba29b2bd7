"""Whether a file is whole, by its own format, without the library that reads it."""

from __future__ import annotations

import gzip
import json
import pickle
import struct
import zipfile
from pathlib import Path

import numpy as np
import pytest

from holdfast.probe.process.file_completeness import why_incomplete

pytestmark = pytest.mark.hot


def _npz(path: Path) -> None:
    np.savez(path, w=np.zeros(500))


def _npy(path: Path) -> None:
    np.save(path, np.zeros((40, 3), "float32"))


def _pickle(path: Path) -> None:
    path.write_bytes(pickle.dumps(list(range(1000))))


def _keras(path: Path) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("config.json", "x" * 3000)


def _safetensors(path: Path) -> None:
    header = json.dumps({"w": {"dtype": "F32", "shape": [9], "data_offsets": [0, 36]}}).encode()
    path.write_bytes(struct.pack("<Q", len(header)) + header + bytes(36))


def _hdf5(path: Path) -> None:
    h5py = pytest.importorskip("h5py")
    with h5py.File(path, "w") as file:
        file["w"] = np.zeros(3000)


def _msgpack(path: Path) -> None:
    """As flax writes it: a map of maps, with arrays as extensions."""
    numbers = np.arange(500, dtype="float32").tobytes()
    array = b"\xc8" + struct.pack(">H", len(numbers)) + b"\x01" + numbers
    inner = b"\x82\xa6kernel" + array + b"\xa4bias\xc0"
    path.write_bytes(b"\x83\xa4step\xcd\x03\x20\xa6params" + inner + b"\xa3log\x92\xcb" + bytes(8) + b"\xc3")


def _json(path: Path) -> None:
    path.write_text(json.dumps({"step": 3, "losses": list(range(200))}))


def _gzip(path: Path) -> None:
    path.write_bytes(gzip.compress(bytes(range(256)) * 900) + gzip.compress(b"a second member"))


@pytest.mark.parametrize(
    ("name", "write"),
    [("a.npz", _npz), ("a.npy", _npy), ("a.pkl", _pickle), ("a.keras", _keras), ("a.safetensors", _safetensors),
     ("a.h5", _hdf5), ("a.msgpack", _msgpack), ("a.json", _json), ("a.pkl.gz", _gzip)],
)  # fmt: skip
def test_a_file_and_its_first_part(name: str, write: object, tmp_path: Path) -> None:
    path = tmp_path / name
    write(path)  # type: ignore[operator]
    whole = path.read_bytes()
    assert why_incomplete(str(path)) == ""
    path.write_bytes(whole[: len(whole) * 2 // 3])
    assert why_incomplete(str(path))
    path.write_bytes(b"")
    assert why_incomplete(str(path)) == "it is empty"


def test_other_formats_are_not_judged(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("1,2\n3")
    assert why_incomplete(str(path)) is None


def test_a_mistake_before_the_end_is_another_fault(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text('{"a": 1,, "b": 2}')
    assert why_incomplete(str(path)) is None


def test_numbers_may_follow_the_pickles_of_an_old_torch(tmp_path: Path) -> None:
    path = tmp_path / "a.pt"
    path.write_bytes(b"\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19." + pickle.dumps({}) + bytes(64))
    assert why_incomplete(str(path)) is None
