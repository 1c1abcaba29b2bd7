"""Which file of a command is its script, and what of it is kept."""

from __future__ import annotations

from pathlib import Path

from holdfast.journal.folder import RunFolder
from holdfast.supervise import script_snapshot


def test_the_script_of_a_command(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("")
    (tmp_path / "pkg").mkdir()
    (tmp_path / "pkg" / "train.py").write_text("")
    assert (
        script_snapshot.script_of(["python", "-u", "train.py", "--lr", "1"], tmp_path)
        == tmp_path / "train.py"
    )
    assert script_snapshot.script_of(["python", "-m", "pkg.train"], tmp_path) == tmp_path / "pkg" / "train.py"
    assert script_snapshot.script_of(["./train.sh"], tmp_path) is None
    assert script_snapshot.script_of(["python", "gone.py"], tmp_path) is None
    assert script_snapshot.script_of(["python", "-c", "import os; " * 1000 + "open('x.py"], tmp_path) is None
    assert script_snapshot.script_of(["python", "-c", "print(1)  # " + "x" * 9000 + ".py"], tmp_path) is None
    assert script_snapshot.script_of(["python", "-m", "a\0b"], tmp_path) is None
    assert script_snapshot.script_of(["python", "-m", ".."], tmp_path) is None


def test_a_script_that_is_too_large_is_digested_only(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_bytes(b"#" * (script_snapshot.MAX_SNAPSHOT_BYTES + 1))
    folder = RunFolder(tmp_path / "run")
    folder.path.mkdir()
    read = script_snapshot.snapshot_script(["python", "train.py"], folder, cwd=tmp_path)
    assert (
        read is not None
        and read.kept == ""
        and read.digest.endswith(f"-{script_snapshot.MAX_SNAPSHOT_BYTES + 1}")
    )
    assert not folder.source.exists()
