"""Whether a file is whole, by its own format, without the library that reads it."""

from __future__ import annotations

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


@pytest.mark.parametrize(
    ("name", "write"),
    [("a.npz", _npz), ("a.npy", _npy), ("a.pkl", _pickle), ("a.keras", _keras), ("a.safetensors", _safetensors),
     ("a.h5", _hdf5)],
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
