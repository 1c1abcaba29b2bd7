"""Files that a function's lines name, without a variable for them and without a call of the script's own."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from holdfast.probe.process import named_paths

FOLDER = Path("kept")


class _Store:
    def __init__(self) -> None:
        self.path = "kept/weights.bin"

    @property
    def touched(self) -> str:
        raise AssertionError("a property of the script was asked")


def _reads(step: int, out: str = "kept") -> None:
    store = _Store()
    (FOLDER / f"step_{step:03d}.msgpack").exists()
    os.path.exists(os.path.join(out, "state.json"))
    os.path.exists(store.path)
    raise ValueError(store)
    os.path.exists("kept/later.txt")
    os.path.exists(store.touched)


def test_files_of_the_lines_so_far(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    FOLDER.mkdir()
    for name in ("step_007.msgpack", "state.json", "weights.bin", "later.txt"):
        (FOLDER / name).write_text("x")
    with pytest.raises(ValueError) as raised:
        _reads(7)
    entry = raised.value.__traceback__
    while entry is not None and entry.tb_next is not None:
        entry = entry.tb_next
    assert entry is not None
    assert named_paths.of(entry.tb_frame, entry.tb_lineno) == [
        "kept/weights.bin", "kept/state.json", "kept/step_007.msgpack",
    ]  # fmt: skip


def test_what_a_library_has_open(tmp_path: Path) -> None:
    path = tmp_path / "weights.npz"
    path.write_bytes(b"x")

    def reads(file: object) -> list[str]:
        return named_paths.of_library(sys._getframe())

    with path.open("rb") as file:
        assert reads(file) == [str(path)]
    assert reads("no file of any kind") == []
