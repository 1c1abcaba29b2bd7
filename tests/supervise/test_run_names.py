"""Names of runs and their folders."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.errors import AlreadyThere
from holdfast.supervise import run_names


@pytest.mark.parametrize(
    "command,name",
    [
        (("python", "-u", "train.py", "--lr", "1"), "train"),
        (("python", "-m", "pkg.train"), "pkg.train"),
        (("bash", "-c", "x"), "bash"),
        (("/opt/bin/my trainer", "x"), "my-trainer"),
        (("torchrun", "--nproc", "2", "scripts/fit.py"), "fit"),
    ],
)
def test_a_run_is_named_after_its_script(command: tuple[str, ...], name: str) -> None:
    assert run_names.script_name(command) == name


def test_folders_are_counted_and_an_empty_one_may_be_used(tmp_path: Path) -> None:
    (tmp_path / "train-1").mkdir()
    assert (
        run_names.choose_folder(("python", "train.py"), run_dir=None, name=None, runs=tmp_path)
        == tmp_path / "train-2"
    )
    assert (
        run_names.choose_folder(("x",), run_dir=str(tmp_path / "train-1"), name=None, runs=tmp_path).name
        == "train-1"
    )
    (tmp_path / "train-1/file").touch()
    with pytest.raises(AlreadyThere) as raised:
        run_names.choose_folder(("x",), run_dir=None, name="train-1", runs=tmp_path)
    assert raised.value.found == ("other files",)
    assert raised.value.change == (f"--run-dir {tmp_path}/train-1-1, or leave it out for a new folder",)


def test_two_runs_that_start_at_once_never_share_a_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another start takes the name after it was seen to be free."""
    free = run_names.free_name

    def seen_free(parent: Path, stem: str) -> Path:
        found = free(parent, stem)
        if found.name == "train-1":
            found.mkdir(parents=True)
        return found

    monkeypatch.setattr(run_names, "free_name", seen_free)
    chosen = run_names.choose_folder(("python", "train.py"), run_dir=None, name=None, runs=tmp_path / "runs")
    assert chosen == tmp_path / "runs/train-2"
    assert chosen.is_dir()


def test_a_runs_folder_that_is_a_file_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "runs").write_text("a file")
    with pytest.raises(NotADirectoryError):
        run_names.choose_folder(("python", "train.py"), run_dir=None, name=None, runs=tmp_path / "runs")
